/** Kinds of values that need no layout. */
export type ScalarKind = 'boolean' | 'int32' | 'int64' | 'string' | 'strings';

/** How a member of an object is written. */
export type MemberKind =
  | ScalarKind
  | { readonly listOf: ObjectLayout }
  /** A map from a string to an object. */
  | { readonly mapOf: ObjectLayout };

/** A member of an object, by its name in the upstream's own code. */
export interface MemberLayout {
  readonly name: string;
  readonly kind: MemberKind;
}

/** The members of one type of object, in the order in which they are written. */
export interface ObjectLayout {
  readonly name: string;
  readonly members: readonly MemberLayout[];
}

/** Kinds of the members that an object has behind those of its layout. */
export type ExtraMembers = ReadonlyMap<ObjectLayout, readonly ScalarKind[]>;

/** An object as read; members that the document does not have are absent. */
export interface MemoryPackObject {
  /** Offset of its first byte. */
  readonly offset: number;
  /** Texts and numbers by member name. Other members are checked and dropped. */
  readonly values: Readonly<Record<string, string | number | null>>;
  /** Offsets of the values. */
  readonly offsets: Readonly<Record<string, number>>;
  /** Offset behind its last byte. */
  readonly end: number;
}

/** An element of one of the collections of the outermost object. */
export interface MemoryPackElement extends MemoryPackObject {
  /** Name of the member that holds the collection. */
  readonly container: string;
}
