export type ScalarKind = 'boolean' | 'int32' | 'int64' | 'string' | 'strings';

export type MemberKind = ScalarKind | { readonly listOf: ObjectLayout } | { readonly mapOf: ObjectLayout };

interface MemberLayout {
  readonly name: string;
  readonly kind: MemberKind;
}

export interface ObjectLayout {
  readonly name: string;
  readonly members: readonly MemberLayout[];
}

/** Kinds of the members that an object has behind those of its layout. */
export type ExtraMembers = ReadonlyMap<ObjectLayout, readonly ScalarKind[]>;

/** An object as read; members that the document does not have are absent. */
export interface MemoryPackObject {
  readonly offset: number;
  /** Texts and numbers by member name. Other members are checked and dropped. */
  readonly values: Readonly<Record<string, string | number | null>>;
  readonly offsets: Readonly<Record<string, number>>;
  readonly end: number;
}

/** An element of one of the collections of the outermost object. */
export interface MemoryPackElement extends MemoryPackObject {
  readonly container: string;
}
