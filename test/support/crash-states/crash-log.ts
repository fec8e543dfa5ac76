import { createHash } from 'node:crypto';

/** Bytes that a file had at some moment. */
export interface Content {
  /** Equal for equal bytes. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** A file or a folder, whatever its names. */
export interface FileNode {
  readonly kind: 'file';
}

export interface FolderNode {
  readonly kind: 'folder';
  /** The names in it while the record is made. */
  readonly names: Map<string, Node>;
}

export type Node = FileNode | FolderNode;

/** Names that a folder gets and, with `null`, loses in one step. */
export type NameChanges = ReadonlyArray<readonly [name: string, node: Node | null]>;

/** One entry of a record, in the order in which they happened. */
export type CrashEvent<Fact> =
  | {
      readonly kind: 'names';
      readonly folder: FolderNode;
      readonly changes: NameChanges;
      /** The change without which this one cannot have happened: a rename to another folder first gives the new name. */
      readonly after: CrashEvent<Fact> | null;
    }
  | { readonly kind: 'content'; readonly file: FileNode; readonly content: Content }
  /** Everything that happened to the node before the event of this number is durable. */
  | { readonly kind: 'sync'; readonly node: Node; readonly until: number; readonly site: string }
  /** The database has this content. A commit that is not durable may be lost with all that follow it. */
  | { readonly kind: 'commit'; readonly image: Content; readonly isDurable: boolean }
  /** What others know from now on. */
  | { readonly kind: 'fact'; readonly fact: Fact };

/** What happened to a folder, and to the database, from a known state on. */
export interface CrashLog<Fact> {
  /** The folder at the begin: it and all below it is durable. */
  readonly root: FolderNode;
  /** The names and bytes at the begin. */
  readonly names: ReadonlyMap<FolderNode, ReadonlyMap<string, Node>>;
  readonly contents: ReadonlyMap<FileNode, Content>;
  readonly image: Content | null;
  readonly events: ReadonlyArray<CrashEvent<Fact>>;
}

export function contentOf(bytes: Buffer): Content {
  return { id: createHash('sha1').update(bytes).digest('hex'), bytes };
}
