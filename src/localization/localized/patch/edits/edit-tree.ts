import type { FieldEdit } from '../../../../formats/patch/find-places.ts';
import { fieldFileName, namesOnTheWay } from '../../../parse/container/container-run.ts';
import type { PartLocation } from '../../../parse/container/parsed-container.ts';
import type { FrozenEdit } from '../../freeze/frozen-release.ts';
import { readLines, type LineRange } from '../../../../platform/files/line-ranges.ts';

const PATH_FIELD = '"fieldPath":';

/** The edits of a file and of the files inside of it. Only their places are in memory. */
export interface EditTree {
  /** The objects that have edits; `null` is a file without objects. */
  readonly pathIds: readonly (bigint | null)[];
  readonly children: ReadonlyMap<string, EditTree>;
  edits(pathId: bigint | null): readonly FieldEdit[];
  countOf(pathId: bigint | null): number;
  /** Whether an edit can be inside of a file that is in a field. */
  mayNest(pathId: bigint | null): boolean;
}

export interface ContainerEdits {
  readonly root: EditTree;
  readonly count: number;
  at(location: PartLocation): readonly FieldEdit[];
}

interface EditsOfObject {
  readonly ranges: LineRange[];
  count: number;
  mayNest: boolean;
}

class EditNode implements EditTree {
  readonly children = new Map<string, EditNode>();
  readonly #objects = new Map<string, EditsOfObject>();
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get pathIds(): readonly (bigint | null)[] {
    return Array.from(this.#objects.keys(), (key) => (key === '' ? null : BigInt(key)));
  }

  edits(pathId: bigint | null): readonly FieldEdit[] {
    const edits: FieldEdit[] = [];
    for (const range of this.#objects.get(String(pathId ?? ''))?.ranges ?? []) {
      for (const { bytes } of readLines(this.#descriptor, range)) {
        for (const edit of parseLines(bytes)) edits.push(edit);
      }
    }
    return edits;
  }

  countOf(pathId: bigint | null): number {
    return this.#objects.get(String(pathId ?? ''))?.count ?? 0;
  }

  mayNest(pathId: bigint | null): boolean {
    const prefix = fieldFileName(pathId, '');
    if (this.#objects.get(String(pathId ?? ''))?.mayNest === true) return true;
    return this.children.keys().some((name) => name.startsWith(prefix));
  }

  object(pathId: string | null): EditsOfObject {
    const key = pathId ?? '';
    const found = this.#objects.get(key) ?? { ranges: [], count: 0, mayNest: false };
    this.#objects.set(key, found);
    return found;
  }

  child(name: string): EditNode {
    const found = this.children.get(name) ?? new EditNode(this.#descriptor);
    this.children.set(name, found);
    return found;
  }
}

/**
 * Reads the places of the edits of a container.
 *
 * @param descriptor of the spool file, one {@link FrozenEdit} a line; it stays open while the tree is used
 */
export function openEdits(descriptor: number): ContainerEdits {
  const root = new EditNode(descriptor);
  let count = 0;
  let object: EditsOfObject = { ranges: [], count: 0, mayNest: false };
  let last: LinePart | null = null;
  for (const { offset, bytes } of readLines(descriptor)) {
    // One character for each byte: positions are those of the file.
    const text = bytes.toString('latin1');
    const marks = createMarkSearch(text);
    for (let from = 0; from < text.length;) {
      const to = text.indexOf('\n', from) + 1;
      // Most lines are of the part of the line before, and say so at the same place.
      if (last === null || !text.startsWith(last.text, from + last.offset)) {
        const { archiveEntry, pathId } = JSON.parse(bytes.toString('utf8', from, to)) as FrozenEdit;
        object = nodeOf(root, archiveEntry).object(pathId);
        last = partOf(text, from, to);
      }
      addRange(object.ranges, { offset: offset + from, length: to - from });
      object.count += 1;
      object.mayNest ||= last === null || marks.isInPath(from + last.offset + last.text.length, to);
      count += 1;
      from = to;
    }
  }
  return {
    root,
    count,
    at: ({ archiveEntry, pathId }) => findNode(root, archiveEntry)?.edits(pathId) ?? [],
  };
}

/** The text of the fields of a line that name the part, up to the path, and where it begins in the line. */
interface LinePart {
  readonly text: string;
  readonly offset: number;
}

/** Quotes in values are escaped, so the names that are found here are those of fields. @returns `null` where these have another order */
function partOf(text: string, from: number, to: number): LinePart | null {
  const start = text.indexOf('"archiveEntry":', from);
  const path = text.indexOf(PATH_FIELD, start);
  if (start === -1 || path === -1 || path > to) return null;
  return { text: text.slice(start, path + PATH_FIELD.length), offset: start - from };
}

/** Finds the mark in paths behind which they lead into a file. Texts can also have it. */
function createMarkSearch(text: string): { isInPath(start: number, lineEnd: number): boolean } {
  let next = -1;
  return {
    isInPath: (start, lineEnd) => {
      if (next < start) {
        const found = text.indexOf('#', start);
        next = found === -1 ? text.length : found;
      }
      if (next >= lineEnd) return false;
      const source = text.indexOf('"source":', start);
      return source === -1 || source > lineEnd || next < source;
    },
  };
}

function addRange(ranges: LineRange[], { offset, length }: LineRange): void {
  const last = ranges.at(-1);
  if (last !== undefined && last.offset + last.length === offset) {
    ranges[ranges.length - 1] = { offset: last.offset, length: last.length + length };
  } else ranges.push({ offset, length });
}

/** Parses several lines in one step, which is faster. */
function parseLines(bytes: Buffer): readonly FrozenEdit[] {
  // No line end is inside of a JSON string.
  const items = bytes.toString('utf8', 0, bytes.length - 1).replaceAll('\n', ',');
  return JSON.parse(`[${items}]`) as FrozenEdit[];
}

function nodeOf(root: EditNode, entry: string | null): EditNode {
  if (entry === null) return root;
  return namesOnTheWay(entry).reduce((node, name) => node.child(name), root);
}

function findNode(root: EditNode, entry: string | null): EditNode | undefined {
  if (entry === null) return root;
  return namesOnTheWay(entry).reduce<EditNode | undefined>((node, name) => node?.children.get(name), root);
}
