import type { ByteWriter } from './byte-writer.ts';
import { LEAF_BYTES, type UnityType, type UnityValue } from './unity-type.ts';

/**
 * Writes a value as its type says.
 *
 * @param referenceTypes describe the fields of managed references by the names of their classes
 * @throws TypeError when the value does not fit
 */
export function writeValue(
  writer: ByteWriter,
  type: UnityType,
  value: UnityValue,
  referenceTypes: readonly UnityType[] = [],
): void {
  const [first, second] = type.children;
  if (type.type === 'string' || type.type === 'TypelessData') {
    writeBytes(writer, typeof value === 'string' ? Buffer.from(value) : value, type.name);
    writer.align(4);
  } else if (type.type === 'Array' && second !== undefined) {
    writeList(writer, second, value, type.name, referenceTypes);
  } else if (first?.type === 'Array') {
    writeValue(writer, first, value, referenceTypes);
  } else if (type.type === 'ReferencedObject') {
    // The first version of the registry has one such field, and as many objects as it needs.
    for (const each of isList(value) ? value : [value]) writeReference(writer, type, each, referenceTypes);
  } else if (first === undefined) {
    writeLeaf(writer, type, value);
  } else {
    for (const child of type.children) {
      writeValue(writer, child, fieldOf(value, child.name), referenceTypes);
    }
  }
  if (type.aligned) writer.align(4);
}

/** Writes a managed reference. Bytes as its `data` are those of a class that nothing describes. */
function writeReference(
  writer: ByteWriter,
  type: UnityType,
  value: UnityValue,
  referenceTypes: readonly UnityType[],
): void {
  const className = fieldOf(fieldOf(value, 'type'), 'class');
  const fields = referenceTypes.find((each) => each.type === className);
  for (const child of type.children) {
    const own = fieldOf(value, child.name);
    if (child.type !== 'ReferencedObjectData') writeValue(writer, child, own);
    else if (own instanceof Uint8Array) writer.bytes(own);
    else for (const field of fields?.children ?? []) writeReferenceField(writer, field, own);
  }
}

/** Only the object itself has a registry, although the types of its references describe one too. */
function writeReferenceField(writer: ByteWriter, field: UnityType, value: UnityValue): void {
  if (field.type !== 'ManagedReferencesRegistry') writeValue(writer, field, fieldOf(value, field.name));
}

function writeList(
  writer: ByteWriter,
  element: UnityType,
  value: UnityValue,
  name: string,
  referenceTypes: readonly UnityType[],
): void {
  if (value instanceof Uint8Array) {
    writeBytes(writer, value, name);
    return;
  }
  if (!isList(value)) throw new TypeError(`${name} is not a list`);
  writer.integer(value.length, 4);
  for (const each of value) writeValue(writer, element, each, referenceTypes);
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
