// The numbers of a state_dict by their names: matrices and vectors.
//
// shapes: pairs of a name and a shape, in the order of the bytes, which are float32; or, if small,
// each row of a matrix is a scale in float32 and whole numbers from -127 to 127.
export function numbersOf(shapes, bytes, small = false) {
  const P = {};
  let offset = 0;
  const float = () => {
    offset += 4;
    return bytes.getFloat32(offset - 4, true);
  };
  const read = (width) => {
    const row = new Float32Array(width);
    for (let k = 0; k < width; k++) row[k] = float();
    return row;
  };
  const readSmall = (width) => {
    const scale = float();
    const row = new Float32Array(width);
    for (let k = 0; k < width; k++) row[k] = scale * bytes.getInt8(offset + k);
    offset += width;
    return row;
  };
  for (const [name, shape] of shapes) {
    const [rows, width] = shape.length === 2 ? shape : [null, ...shape];
    P[name] = rows === null ? read(width)
      : Array.from({ length: rows }, () => (small ? readSmall : read)(width));
  }
  return P;
}
