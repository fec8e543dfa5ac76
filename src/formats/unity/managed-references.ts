import type { FormatError } from '../format-error.ts';
import {
  type CompiledType,
  int32Reader,
  LENGTH_BYTES,
  type ObjectCursor,
  type ReadLength,
  type ReferenceName,
  takeCount,
  takeText,
} from './object-cursor.ts';

export const REGISTRY_TYPE = 'ManagedReferencesRegistry';
/** A leaf that only holds the id of a reference. */
export const REFERENCE_LEAVES = ['managedReference', 'managedRefArrayItem'];
export const REFERENCE_ID_BYTES = 8;

/** Its references have no ids and no count: an entry of this type ends them. */
const TERMINATED_VERSION = 1;
const COUNTED_VERSION = 2;
const FUTURE_VERSIONS = 16;
const TERMINUS = 'Terminus,UnityEngine.DMAT,FAKE_ASM';
/** References to nothing and to an object that is gone, which have no fields. */
const RESERVED_IDS: ReadonlySet<bigint> = new Set([-1n, -2n]);
const SMALLEST_NAME = 3 * LENGTH_BYTES;

/**
 * Compiles the registry of managed references, which holds the objects behind `[SerializeReference]` fields. Each names its C#
 * type, and the fields of that type decide its length.
 *
 * @param isLast whether it is the last field. Then it can be kept without knowing all types in it: nothing refers to a
 *   position in it, and the rest of the object is its own.
 */
export function compileRegistry(littleEndian: boolean, isLast: boolean): CompiledType {
  const int32 = int32Reader(littleEndian);
  const read = (cursor: ObjectCursor, isVisited: boolean): void => {
    readRegistry(cursor, { littleEndian, int32, isLast, isVisited });
  };
  return {
    visit: (cursor) => {
      cursor.visitor.beginObject();
      cursor.visitor.field('RefIds');
      cursor.visitor.beginArray();
      read(cursor, true);
      cursor.visitor.endArray();
      cursor.visitor.endObject();
    },
    skip: (cursor) => {
      read(cursor, false);
    },
    hasText: true,
    isVisible: true,
    layout: null,
    smallest: 2 * LENGTH_BYTES,
  };
}

/** The registry in the type tree of a reference. Its object has the only one. */
export const NO_REGISTRY: CompiledType = {
  visit: () => undefined,
  skip: () => undefined,
  hasText: false,
  isVisible: false,
  layout: { size: 0, aligned: false },
  smallest: 0,
};

interface Reading {
  readonly littleEndian: boolean;
  readonly int32: ReadLength;
  readonly isLast: boolean;
  readonly isVisited: boolean;
}

function readRegistry(cursor: ObjectCursor, reading: Reading): void {
  const start = cursor.position;
  const version = reading.int32(cursor);
  if (version === COUNTED_VERSION) {
    const count = takeCount(cursor, reading.int32, REFERENCE_ID_BYTES + SMALLEST_NAME);
    if (count > cursor.limits.elements) throw tooMany(cursor, count, start);
    for (let index = 0; index < count; index += 1) {
      const at = cursor.take(REFERENCE_ID_BYTES);
      const { bytes } = cursor;
      const id = reading.littleEndian ? bytes.readBigInt64LE(at) : bytes.readBigInt64BE(at);
      const name = takeName(cursor, reading.int32);
      const hasFields = name.className !== '' && !RESERVED_IDS.has(id);
      if (hasFields && !readReference(cursor, String(id), name, reading)) return;
    }
    return;
  }
  if (version !== TERMINATED_VERSION) {
    const message = `the registry of managed references has the unknown version ${version}`;
    const error = cursor.fail('typetree_managed_reference_unsupported', message, start);
    // Any other number is no version: the fields in front of it are not as the type tree says.
    leaveRest(cursor, error, reading.isLast && version > COUNTED_VERSION && version < FUTURE_VERSIONS);
    return;
  }
  for (let index = 0; ; index += 1) {
    if (index > cursor.limits.elements) throw tooMany(cursor, index, start);
    const name = takeName(cursor, reading.int32);
    if (Object.values(name).join(',') === TERMINUS) return;
    if (name.className !== '' && !readReference(cursor, String(index), name, reading)) return;
  }
}

/** Reads the fields of a reference. @returns `false` where nothing describes them, so that nothing behind can be read either */
function readReference(
  cursor: ObjectCursor,
  id: string,
  name: ReferenceName,
  { isLast, isVisited }: Reading,
): boolean {
  const type = cursor.referenceTypeOf(name);
  if (type === null) {
    const path = [name.namespace, name.className].filter((part) => part !== '').join('.');
    const message = `no type tree describes the managed reference ${id} of the class ${path} in ${name.assembly}`;
    leaveRest(cursor, cursor.fail('typetree_managed_reference_unsupported', message), isLast);
    return false;
  }
  if (!isVisited || !type.isVisible) {
    type.skip(cursor);
    return true;
  }
  const { visitor } = cursor;
  visitor.element(id);
  visitor.beginObject();
  visitor.field('data');
  type.visit(cursor);
  visitor.endObject();
  return true;
}

/** Leaves the rest of the object as it is. @throws the error where more than the registry is left */
function leaveRest(cursor: ObjectCursor, error: FormatError, isAllowed: boolean): void {
  if (!isAllowed) throw error;
  cursor.unread = error;
  cursor.position = cursor.size;
}

function takeName(cursor: ObjectCursor, int32: ReadLength): ReferenceName {
  const part = (): string => {
    const from = cursor.position + LENGTH_BYTES;
    return cursor.bytes.toString('utf8', from, takeText(cursor, int32));
  };
  return { className: part(), namespace: part(), assembly: part() };
}

function tooMany(cursor: ObjectCursor, count: number, start: number): Error {
  return cursor.fail('container_limit_exceeded', `the object has ${count} managed references`, start);
}
