import { MemoryPackCursor, MemoryPackError } from './memory-pack-cursor.ts';
import type {
  ExtraMembers,
  MemberKind,
  MemoryPackElement,
  MemoryPackObject,
  ObjectLayout,
} from './memory-pack-layout.ts';

const OBJECT_BYTES = 1;
const STRING_BYTES = 4;
/** Elements of nested collections that are read between two pauses. */
const NESTED_PER_PAUSE = 2000;

/** An object with more members than its layout, and nothing is known about the kinds of the others. */
export class UnknownMembersError extends MemoryPackError {
  override readonly name = 'UnknownMembersError';
  readonly layout: ObjectLayout;
  readonly extra: number;

  constructor(layout: ObjectLayout, count: number, offset: number) {
    super(`${layout.name} has ${count} members, ${layout.members.length} are known`, offset);
    this.layout = layout;
    this.extra = count - layout.members.length;
  }
}

/**
 * Reads the elements of the collections of the outermost object, in document order. An object may have fewer members
 * than its layout (an older writer). Members of the outermost object behind its layout, and bytes behind the object,
 * are ignored.
 *
 * It gives `null` where the caller can let other work run: a nested collection can be as large as the document.
 *
 * @param onNested receives the objects of the collections inside an element, before the element itself
 * @returns the offset of the first byte that was not read
 * @throws MemoryPackError; UnknownMembersError where `extras` lacks a layout that needs them
 */
export function* readMemoryPack(
  bytes: Buffer,
  root: ObjectLayout,
  extras: ExtraMembers,
  onNested?: (object: MemoryPackObject) => void,
): Generator<MemoryPackElement | null, number> {
  const cursor = new MemoryPackCursor(bytes);
  const reading: Reading = { cursor, extras, onNested, nested: 0 };
  const count = cursor.readObjectHeader();
  if (count === null) throw new MemoryPackError(`${root.name} is null`, 0);
  for (const { name, kind } of root.members.slice(0, count)) {
    if (typeof kind === 'string') {
      yield* readMember(reading, kind);
      continue;
    }
    const isMap = 'mapOf' in kind;
    const layout = isMap ? kind.mapOf : kind.listOf;
    const length = cursor.readCollectionHeader(isMap ? STRING_BYTES + OBJECT_BYTES : OBJECT_BYTES) ?? 0;
    for (let index = 0; index < length; index += 1) {
      if (isMap) cursor.readString();
      const offset = cursor.offset;
      const element = yield* readObject(reading, layout);
      if (element === null) throw new MemoryPackError(`${name}: ${layout.name} ${index} is null`, offset);
      yield { container: name, ...element };
    }
  }
  return cursor.offset;
}

interface Reading {
  readonly cursor: MemoryPackCursor;
  readonly extras: ExtraMembers;
  readonly onNested: ((object: MemoryPackObject) => void) | undefined;
  /** Elements of nested collections read since the last pause. */
  nested: number;
}

function* readObject(reading: Reading, layout: ObjectLayout): Generator<null, MemoryPackObject | null> {
  const { cursor, extras } = reading;
  const { offset } = cursor;
  const count = cursor.readObjectHeader();
  if (count === null) return null;
  const values: Record<string, string | number | null> = {};
  const offsets: Record<string, number> = {};
  for (const { name, kind } of layout.members.slice(0, count)) {
    const start = cursor.offset;
    const value = yield* readMember(reading, kind);
    if (value === undefined) continue;
    values[name] = value;
    offsets[name] = start;
  }
  if (count > layout.members.length) {
    const kinds = extras.get(layout) ?? [];
    if (kinds.length !== count - layout.members.length) {
      throw new UnknownMembersError(layout, count, offset);
    }
    for (const kind of kinds) yield* readMember(reading, kind);
  }
  return { offset, values, offsets, end: cursor.offset };
}

/** Returns texts and numbers; everything else is checked and dropped. */
function* readMember(
  reading: Reading,
  kind: MemberKind,
): Generator<null, string | number | null | undefined> {
  const { cursor } = reading;
  if (kind === 'string') return cursor.readString();
  if (kind === 'int64') return cursor.readInt64();
  if (kind === 'int32') return cursor.readInt32();
  if (kind === 'boolean') cursor.readBoolean();
  else yield* skipElements(reading, kind);
  return undefined;
}

function* skipElements(
  reading: Reading,
  kind: Exclude<MemberKind, 'string' | 'int64' | 'int32' | 'boolean'>,
): Generator<null, void> {
  const { cursor, onNested } = reading;
  const hasTexts = kind === 'strings' || 'mapOf' in kind;
  const layout = kind === 'strings' ? null : 'mapOf' in kind ? kind.mapOf : kind.listOf;
  const smallest = (hasTexts ? STRING_BYTES : 0) + (layout === null ? 0 : OBJECT_BYTES);
  const length = cursor.readCollectionHeader(smallest) ?? 0;
  for (let index = 0; index < length; index += 1) {
    if (hasTexts) cursor.readString();
    if (layout !== null) {
      const object = yield* readObject(reading, layout);
      if (object !== null) onNested?.(object);
    }
    reading.nested += 1;
    if (reading.nested < NESTED_PER_PAUSE) continue;
    reading.nested = 0;
    yield null;
  }
}
