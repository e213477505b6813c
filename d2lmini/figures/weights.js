// The numbers of a state_dict by their names: matrices and vectors.
//
// shapes: pairs of a name and a shape, in the order of the bytes. bits: of a number, 32 or 16; or 8:
// then each row of a matrix is a scale in float32 and whole numbers from -127 to 127.
export function numbersOf({ shapes, bits = 32 }, bytes) {
  const P = {};
  let offset = 0;
  const float = () => {
    offset += 4;
    return bytes.getFloat32(offset - 4, true);
  };
  const half = () => { // a sign, an exponent of 5 bits, and 10 bits behind the point
    const all = bytes.getUint16(offset, true);
    offset += 2;
    const [exponent, rest] = [(all >> 10) & 31, all & 1023];
    const size = exponent ? 2 ** (exponent - 25) * (1024 + rest) : 2 ** -24 * rest;
    return all & 0x8000 ? -size : size;
  };
  const read = (width, one) => Float32Array.from({ length: width }, one);
  const readSmall = (width) => {
    const scale = float();
    const row = read(width, (_, k) => scale * bytes.getInt8(offset + k));
    offset += width;
    return row;
  };
  const readRow = bits === 8 ? readSmall : (width) => read(width, bits === 16 ? half : float);
  for (const [name, shape] of shapes) {
    const [rows, width] = shape.length === 2 ? shape : [null, ...shape];
    P[name] = rows !== null ? Array.from({ length: rows }, () => readRow(width))
      : bits === 8 ? read(width, float) : readRow(width);
  }
  return P;
}
