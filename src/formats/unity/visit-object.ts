import { FormatError } from '../format-error.ts';
import type { ReadLimits, ValueVisitor } from '../value-visitor.ts';
import { CLASS_IDS, builtinTypeTree, type TypeTree } from './type-tree.ts';
import { compileTypeTree } from './compile-type-tree.ts';
import {
  type CompiledType,
  ObjectCursor,
  type ReferenceName,
  type ReferenceTypeOf,
} from './object-cursor.ts';
import { readObjectName } from './read-object-name.ts';
import type { SerializedFile, SerializedObject } from './serialized-file.ts';

/**
 * Reports the fields of an object to a visitor. Positions of texts are bytes from the start of the object, with the
 * length prefix and the padding, so that `bytes.subarray(start, end)` of {@link readObjectBytes} can be replaced.
 *
 * Fields and arrays without texts and integers are left out, and so are whole arrays without texts. Texts are decoded as
 * UTF-8; where one holds U+FFFD, compare it with {@link textBytes}, because invalid bytes become that character.
 *
 * The error comes behind the texts that were read before it, and says that the type tree does not fit the bytes. So the
 * visitor has to buffer the texts of an object, and to drop them when this function throws.
 *
 * Managed references at the end of an object are read up to the first one whose C# type nothing describes.
 *
 * @returns which reference that is, with the offset in the object; `null` when the whole object was read
 * @throws FormatError `typetree_missing`, `typetree_invalid`, `typetree_size_mismatch`, `field_too_large`,
 *   `typetree_managed_reference_unsupported` or `container_limit_exceeded`, with the offset in the object; and the errors
 *   of the bundle
 */
export function visitObject(
  file: SerializedFile,
  object: SerializedObject,
  visitor: ValueVisitor,
  limits: ReadLimits,
): FormatError | null {
  const compiled = compiledTypeOf(file, object);
  const cursor = new ObjectCursor(readObjectBytes(file, object), visitor, limits, referenceTypesOf(file));
  compiled.visit(cursor);
  if (cursor.position === object.size) return cursor.unread;
  throw cursor.fail(
    'typetree_size_mismatch',
    `the type tree describes ${cursor.position} of ${object.size} bytes`,
  );
}

const FIELD_NAMES = new WeakMap<TypeTree, ReadonlySet<string>>();

/** The names of the fields of an object, and of those in them as `field.field`. @throws FormatError `typetree_missing` */
export function fieldNamesOf(file: SerializedFile, object: SerializedObject): ReadonlySet<string> {
  const tree = typeTreeOf(file, object);
  const known = FIELD_NAMES.get(tree);
  if (known !== undefined) return known;
  const names = tree.children.flatMap(({ name, children }) => [
    name,
    ...children.map((child) => `${name}.${child.name}`),
  ]);
  const found = new Set(names);
  FIELD_NAMES.set(tree, found);
  return found;
}

/** The bounds of the texts of an object. A text asset is often a whole file; its limit is that of an entry. */
export function objectLimits({ type }: SerializedObject, limits: ReadLimits): ReadLimits {
  const isFile = type.classId === CLASS_IDS.textAsset;
  return isFile ? { ...limits, stringBytes: limits.entryBytes } : limits;
}

/** The bytes of an object. They may share memory with the bundle and must not be changed. */
export function readObjectBytes(file: SerializedFile, object: SerializedObject): Buffer {
  return file.source.read(object.offset, object.size);
}

/** The stored bytes of a text in an object. @param start of the text, as {@link visitObject} reports it */
export function textBytes(file: SerializedFile, bytes: Buffer, start: number): Buffer {
  const length = file.header.littleEndian ? bytes.readInt32LE(start) : bytes.readInt32BE(start);
  return bytes.subarray(start + 4, start + 4 + length);
}

/** Each tree is compiled once for each byte order. */
const COMPILED = {
  little: new WeakMap<TypeTree, CompiledType>(),
  big: new WeakMap<TypeTree, CompiledType>(),
};

function compiledTypeOf(file: SerializedFile, object: SerializedObject): CompiledType {
  const tree = typeTreeOf(file, object);
  const { littleEndian } = file.header;
  const known = littleEndian ? COMPILED.little : COMPILED.big;
  let compiled = known.get(tree);
  if (compiled === undefined) {
    compiled = compileTypeTree(tree, littleEndian);
    known.set(tree, compiled);
  }
  return compiled;
}

const REFERENCE_TYPES = new WeakMap<SerializedFile, ReferenceTypeOf>();

/** The types of managed references: those that the file lists, then the configured ones. */
function referenceTypesOf(file: SerializedFile): ReferenceTypeOf {
  const known = REFERENCE_TYPES.get(file);
  if (known !== undefined) return known;
  const trees = new Map<string, TypeTree>();
  for (const { reference, tree } of file.referenceTypes) {
    if (reference !== null && tree !== null) trees.set(referenceKey(reference), tree);
  }
  const compiled = new Map<string, CompiledType>();
  const typeOf: ReferenceTypeOf = (name) => {
    const key = referenceKey(name);
    const found = compiled.get(key);
    if (found !== undefined) return found;
    const className = [name.namespace, name.className].filter((part) => part !== '').join('.');
    const tree =
      trees.get(key) ??
      file.typeTreeOf({ classId: null, scriptHash: null, className, assembly: name.assembly });
    if (tree === null) return null;
    const type = compileTypeTree(tree, file.header.littleEndian, 'reference');
    compiled.set(key, type);
    return type;
  };
  REFERENCE_TYPES.set(file, typeOf);
  return typeOf;
}

function referenceKey({ className, namespace, assembly }: ReferenceName): string {
  return [className, namespace, assembly].join('\0');
}

function typeTreeOf(file: SerializedFile, object: SerializedObject): TypeTree {
  const { classId, scriptHash, tree } = object.type;
  if (tree !== null) return tree;
  const named = classId === CLASS_IDS.monoBehaviour ? readObjectName(file, object).script : null;
  const className = named?.className ?? null;
  const found =
    file.typeTreeOf({ classId, scriptHash, className, assembly: null }) ?? builtinTypeTree(classId);
  if (found !== null) return found;
  const place = named === null || named.file === null ? null : `object ${named.pathId} of ${named.file}`;
  const script = [className ?? place, scriptHash && `script ${scriptHash}`].filter(Boolean).join(', ');
  throw new FormatError(
    'typetree_missing',
    `there is no type tree for class ${classId}${script === '' ? '' : ` (${script})`}`,
  );
}
