// Keeps what has been read, so that it can be read again without a network.
//
// Pages come from the network where there is one, so they are never older than the site; what has
// its own hash in its address comes from what is kept. tools/extensions/offline_reading.py fills in the two
// constants; the first tells a browser that the site has changed.
const VERSION = "{version}";
const SEARCH = {search}; // the search, of all pages, is there from the start

// A host may have several books, and several editions of one.
const BOOK = `book at ${self.registration.scope}, `;
const CACHE = BOOK + VERSION;
const HASHED = /[?&](v|digest)=|[/.-][0-9a-f]{16,}[/.-]/;
// What a page loads, pictures that are not in sight yet and its network included.
const PARTS = /(?:src=|href=|"file":)"([^"?]*_(?:static|images)\/[^"]+)"/g;

const isPage = (address) => /(\/|\.html)$/.test(new URL(address).pathname);
const isPart = (address) => /\/(_static|_images)\/|\/searchindex\.js/.test(address);
// The address of a page may hold the state of its figures.
const nameOf = (address) => (isPage(address) ? address.replace(/[?#].*/, "") : address);
const keptAs = async (name) => (await caches.open(CACHE)).match(name);

// From the network, and kept. A page is asked for anew, whatever the browser's own cache holds.
async function fetchAndKeep(request, name) {
  const response = await fetch(request, isPage(name) ? { cache: "no-cache" } : {});
  if (response.ok) await (await caches.open(CACHE)).put(name, response.clone());
  return response;
}

// What cannot be loaded is not there offline, and that is all.
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

// What was read of an earlier version is read again, in this one.
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
// The page that a reader saw first says where it is and what it has loaded.
self.addEventListener("message", (event) => {
  const [address, ...loaded] = event.data;
  const name = nameOf(address);
  event.waitUntil(fetchAndKeep(name, name).then(keepParts)
    .then(() => keepAll(loaded.filter(isPart))));
});
