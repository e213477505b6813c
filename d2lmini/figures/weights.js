// The matrices and vectors of a state_dict by name.
//
// shapes: pairs of a name and a shape, in the order of the bytes. bits per number: 32 or 16; or 8 or
// fewer: then each row of a matrix is a scale and integers with this many bits. Scales and vectors
// have 32 bits if the integers have 8, else 16.
export function numbersOf({ shapes, bits = 32 }, bytes) {
  const P = {};
  let offset = 0;
  const float = () => {
    offset += 4;
    return bytes.getFloat32(offset - 4, true);
  };
  const half = () => { // a sign, an exponent of 5 bits, and a fraction of 10 bits
    const all = bytes.getUint16(offset, true);
    offset += 2;
    const [exponent, rest] = [(all >> 10) & 31, all & 1023];
    const size = exponent ? 2 ** (exponent - 25) * (1024 + rest) : 2 ** -24 * rest;
    return all & 0x8000 ? -size : size;
  };
  // Plain loops, since the page waits: Float32Array.from takes ten times as long.
  const read = (width, one) => {
    const numbers = new Float32Array(width);
    for (let i = 0; i < width; i++) numbers[i] = one();
    return numbers;
  };
  const one = bits === 32 || bits === 8 ? float : half;
  const readWhole = (width) => {
    const scale = one();
    const numbers = new Float32Array(width);
    const middle = 2 ** (bits - 1);
    let [held, count] = [0, 0]; // bits already read that belong to the next number
    for (let i = 0; i < width; i++) {
      if (count < bits) {
        held = held * 256 + bytes.getUint8(offset);
        offset += 1;
        count += 8;
      }
      count -= bits;
      const whole = held >> count;
      held -= whole << count;
      numbers[i] = scale * (whole - middle);
    }
    return numbers;
  };
  const readRow = bits <= 8 ? readWhole : (width) => read(width, one);
  for (const [name, shape] of shapes) {
    const [rows, width] = shape.length === 2 ? shape : [null, ...shape];
    P[name] = rows === null ? read(width, one) : Array.from({ length: rows }, () => readRow(width));
  }
  return P;
}

// Data that begin with words: the length of their JSON, the JSON, then the numbers.
export function wordsAndNumbers({ buffer, byteOffset, byteLength }) {
  const length = new DataView(buffer, byteOffset).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, byteOffset + 4, length));
  const start = 4 + length;
  return { words: JSON.parse(text),
    numbers: new DataView(buffer, byteOffset + start, byteLength - start) };
}
