import type { FieldEdit } from '../../../formats/patch/value-edit.ts';
import { fieldFileName, namesOnTheWay } from '../../../parse/container/container-run.ts';
import type { PartLocation } from '../../../parse/container/parsed-container.ts';
import type { FrozenEdit } from '../../freeze/frozen-container.ts';
import { readLines, type LineRange } from '../../../../platform/files/line-ranges.ts';

/** The edits of a file and of the files inside of it. Only their places are in memory. */
export interface EditTree {
  /** The objects that have edits; `null` stands for a file without objects. */
  readonly pathIds: readonly (bigint | null)[];
  /** The files inside that have edits, by their names. */
  readonly children: ReadonlyMap<string, EditTree>;
  /** Reads the edits of an object, or of a file without objects. */
  edits(pathId: bigint | null): readonly FieldEdit[];
  countOf(pathId: bigint | null): number;
  /** Whether an edit can be inside of a file that is in a field. */
  mayNest(pathId: bigint | null): boolean;
}

/** The edits of a container. */
export interface ContainerEdits {
  readonly root: EditTree;
  readonly count: number;
  /** Reads the edits of the part of a container. */
  at(location: Pick<PartLocation, 'archiveEntry' | 'pathId'>): readonly FieldEdit[];
}

/** The edits of one object, or of a file without objects. */
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
    const prefix = fieldFileName({ pathId }, '');
    if (this.#objects.get(String(pathId ?? ''))?.mayNest === true) return true;
    return this.children.keys().some((name) => name.startsWith(prefix));
  }

  /** The edits of an object, to which more are added. */
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
  let lastPart: string | null = null;
  let object: EditsOfObject = { ranges: [], count: 0, mayNest: false };
  for (const { offset, bytes } of readLines(descriptor)) {
    // One character for each byte: positions are those of the file.
    const text = bytes.toString('latin1');
    for (let from = 0; from < text.length;) {
      const to = text.indexOf('\n', from) + 1;
      const head = headOf(text, from, to);
      if (head.part === null || head.part !== lastPart) {
        const { archiveEntry, pathId } = JSON.parse(bytes.toString('utf8', from, to)) as FrozenEdit;
        object = nodeOf(root, archiveEntry).object(pathId);
        lastPart = head.part;
      }
      addRange(object.ranges, { offset: offset + from, length: to - from });
      object.count += 1;
      object.mayNest ||= head.mayNest;
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

/** The facts that the beginning of a line shows, so that most lines need not be parsed. */
interface LineHead {
  /** The text of the fields that name the part; `null` where the fields have another order. Lines of one part share it. */
  readonly part: string | null;
  /** Whether the path has the mark behind which it leads into a file, or is not seen. */
  readonly mayNest: boolean;
}

/** Quotes in values are escaped, so the names that are found here are those of fields. */
function headOf(text: string, from: number, to: number): LineHead {
  const part = text.indexOf('"archiveEntry":', from);
  const path = text.indexOf('"fieldPath":', part);
  const source = text.indexOf('"source":', path);
  if (part === -1 || path === -1 || source === -1 || source > to) return { part: null, mayNest: true };
  return { part: text.slice(part, path), mayNest: text.slice(path, source).includes('#') };
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
