// Caches what has been read, so that it can be read again without a network.
//
// Pages come from the network if there is one, so they are never older than the site; files with a
// hash in their address come from the cache. tools/extensions/offline_reading.py fills in the two
// constants; the first tells a browser that the site has changed.
const VERSION = "{version}";
const SEARCH = {search}; // the search, cached from the start

// A host may serve several books, and several editions of one.
const BOOK = `book at ${self.registration.scope}, `;
const CACHE = BOOK + VERSION;
const HASHED = /[?&](v|digest)=|[/.-][0-9a-f]{16,}[/.-]/;
// Files that a page loads, including lazy pictures and the weights of its network.
const PARTS = /(?:src=|href=|"file":)"([^"?]*_(?:static|images)\/[^"]+)"/g;

const isPage = (address) => /(\/|\.html)$/.test(new URL(address).pathname);
const isPart = (address) => /\/(_static|_images)\/|\/searchindex\.js/.test(address);
// The address of a page may contain the state of its figures.
const nameOf = (address) => (isPage(address) ? address.replace(/[?#].*/, "") : address);
const keptAs = async (name) => (await caches.open(CACHE)).match(name);

// Fetch and cache. Pages are revalidated, whatever is in the browser's own cache.
async function fetchAndKeep(request, name) {
  const response = await fetch(request, isPage(name) ? { cache: "no-cache" } : {});
  if (response.ok) await (await caches.open(CACHE)).put(name, response.clone());
  return response;
}

// A file that fails to load is merely missing offline.
async function keepAll(addresses) {
  for (const address of addresses) {
    if (!(await keptAs(address))) await fetchAndKeep(address, address).catch(() => null);
  }
}

async function keepParts(page) {
  const text = await page.text();
  await keepAll([...text.matchAll(PARTS)].map((match) => new URL(match[1], page.url).href));
}

async function answer(event) {
  const name = nameOf(event.request.url);
  const kept = await keptAs(name);
  if (kept && HASHED.test(name)) return kept;
  try {
    const response = await fetchAndKeep(event.request, name);
    if (isPage(name) && response.ok) event.waitUntil(keepParts(response.clone()));
    return response;
  } catch {
    return kept ?? Response.error();
  }
}

// Fetch the pages cached under an earlier version again, then drop that cache.
async function renew() {
  const names = (await caches.keys()).filter((name) => name.startsWith(BOOK) && name !== CACHE);
  for (const name of names) {
    const old = await caches.open(name);
    for (const { url } of (await old.keys()).filter((request) => isPage(request.url))) {
      const page = await fetchAndKeep(url, url).catch(() => null);
      if (page?.ok) await keepParts(page);
    }
    await caches.delete(name);
  }
}

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(SEARCH)));
});
self.addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim().then(renew));
});
self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const ours = url.startsWith(self.registration.scope) && (isPage(url) || isPart(url));
  if (method === "GET" && ours) event.respondWith(answer(event));
});
// The first page, loaded before this worker, sends its address and the files it has loaded.
self.addEventListener("message", (event) => {
  const [address, ...loaded] = event.data;
  const name = nameOf(address);
  event.waitUntil(fetchAndKeep(name, name).then(keepParts)
    .then(() => keepAll(loaded.filter(isPart))));
});
