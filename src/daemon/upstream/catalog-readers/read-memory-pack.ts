import { MemoryPackCursor, MemoryPackError } from './memory-pack-cursor.ts';
import type {
  ExtraMembers,
  MemberKind,
  MemoryPackElement,
  MemoryPackObject,
  ObjectLayout,
} from './memory-pack-layout.ts';

/** Fewest bytes of an object, of a string, and of a string with an object. */
const OBJECT_BYTES = 1;
const STRING_BYTES = 4;

/** An object with more members than its layout, and nothing is known about the kinds of the others. */
export class UnknownMembersError extends MemoryPackError {
  override readonly name = 'UnknownMembersError';
  readonly layout: ObjectLayout;
  /** Number of members behind those of the layout. */
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
 * @param extras kinds of the members that objects have behind those of their layouts
 * @returns the offset of the first byte that was not read
 * @throws MemoryPackError; UnknownMembersError where `extras` lacks a layout that needs them
 */
export function* readMemoryPack(
  bytes: Buffer,
  root: ObjectLayout,
  extras: ExtraMembers,
): Generator<MemoryPackElement, number> {
  const cursor = new MemoryPackCursor(bytes);
  const count = cursor.readObjectHeader();
  if (count === null) throw new MemoryPackError(`${root.name} is null`, 0);
  for (const { name, kind } of root.members.slice(0, count)) {
    if (typeof kind === 'string') {
      readMember(cursor, kind, extras);
      continue;
    }
    const isMap = 'mapOf' in kind;
    const layout = isMap ? kind.mapOf : kind.listOf;
    const length = cursor.readCollectionHeader(isMap ? STRING_BYTES + OBJECT_BYTES : OBJECT_BYTES) ?? 0;
    for (let index = 0; index < length; index += 1) {
      if (isMap) cursor.readString();
      const offset = cursor.offset;
      const element = readObject(cursor, layout, extras);
      if (element === null) throw new MemoryPackError(`${name}: ${layout.name} ${index} is null`, offset);
      yield { container: name, ...element };
    }
  }
  return cursor.offset;
}

function readObject(
  cursor: MemoryPackCursor,
  layout: ObjectLayout,
  extras: ExtraMembers,
): MemoryPackObject | null {
  const { offset } = cursor;
  const count = cursor.readObjectHeader();
  if (count === null) return null;
  const values: Record<string, string | number | null> = {};
  for (const { name, kind } of layout.members.slice(0, count)) {
    const value = readMember(cursor, kind, extras);
    if (value !== undefined) values[name] = value;
  }
  if (count > layout.members.length) {
    const kinds = extras.get(layout) ?? [];
    if (kinds.length !== count - layout.members.length) {
      throw new UnknownMembersError(layout, count, offset);
    }
    for (const kind of kinds) readMember(cursor, kind, extras);
  }
  return { offset, values };
}

/** Returns texts and numbers; everything else is checked and dropped. */
function readMember(
  cursor: MemoryPackCursor,
  kind: MemberKind,
  extras: ExtraMembers,
): string | number | null | undefined {
  if (kind === 'string') return cursor.readString();
  if (kind === 'int64') return cursor.readInt64();
  if (kind === 'int32') return cursor.readInt32();
  if (kind === 'boolean') cursor.readBoolean();
  else if (kind === 'strings') skipElements(cursor, STRING_BYTES, () => cursor.readString());
  else if ('listOf' in kind) {
    skipElements(cursor, OBJECT_BYTES, () => readObject(cursor, kind.listOf, extras));
  } else {
    skipElements(cursor, STRING_BYTES + OBJECT_BYTES, () => {
      cursor.readString();
      readObject(cursor, kind.mapOf, extras);
    });
  }
  return undefined;
}

function skipElements(cursor: MemoryPackCursor, smallest: number, skip: () => unknown): void {
  const length = cursor.readCollectionHeader(smallest) ?? 0;
  for (let index = 0; index < length; index += 1) skip();
}
