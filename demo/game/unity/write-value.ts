import type { ByteWriter } from './byte-writer.ts';
import { LEAF_BYTES, type UnityType, type UnityValue } from './unity-type.ts';

/**
 * Writes a value as its type says.
 *
 * @throws TypeError when the value does not fit
 */
export function writeValue(writer: ByteWriter, type: UnityType, value: UnityValue): void {
  const [first, second] = type.children;
  if (type.type === 'string' || type.type === 'TypelessData') {
    writeBytes(writer, typeof value === 'string' ? Buffer.from(value) : value, type.name);
    writer.align(4);
  } else if (type.type === 'Array' && second !== undefined) {
    writeList(writer, second, value, type.name);
  } else if (first?.type === 'Array') {
    writeValue(writer, first, value);
  } else if (first === undefined) {
    writeLeaf(writer, type, value);
  } else {
    for (const child of type.children) writeValue(writer, child, fieldOf(value, child.name));
  }
  if (type.aligned) writer.align(4);
}

function writeList(writer: ByteWriter, element: UnityType, value: UnityValue, name: string): void {
  if (value instanceof Uint8Array) {
    writeBytes(writer, value, name);
    return;
  }
  if (!isList(value)) throw new TypeError(`${name} is not a list`);
  writer.integer(value.length, 4);
  for (const each of value) writeValue(writer, element, each);
}

function writeBytes(writer: ByteWriter, value: UnityValue, name: string): void {
  if (!(value instanceof Uint8Array)) throw new TypeError(`${name} is neither a string nor bytes`);
  writer.integer(value.length, 4);
  writer.bytes(value);
}

function writeLeaf(writer: ByteWriter, { type, name, byteSize }: UnityType, value: UnityValue): void {
  const size = LEAF_BYTES.get(type) ?? byteSize;
  // A class without fields has no bytes.
  if (size <= 0) return;
  if (type === 'float' || type === 'double') writer.float(Number(value), size);
  else if (typeof value === 'number' || typeof value === 'bigint') writer.integer(value, size);
  else if (typeof value === 'boolean') writer.integer(value ? 1 : 0, size);
  else throw new TypeError(`${name} is not a number`);
}

function fieldOf(value: UnityValue, name: string): UnityValue {
  if (typeof value !== 'object' || value instanceof Uint8Array || isList(value)) {
    throw new TypeError(`the value with the field ${name} is not an object`);
  }
  const field = value[name];
  if (field === undefined) throw new TypeError(`the field ${name} is missing`);
  return field;
}

function isList(value: UnityValue): value is readonly UnityValue[] {
  return Array.isArray(value);
}
