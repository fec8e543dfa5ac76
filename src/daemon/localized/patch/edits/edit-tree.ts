import type { FieldEdit } from '../../../formats/patch/value-edit.ts';
import { namesOnTheWay } from '../../../parse/container/container-run.ts';
import type { PartLocation } from '../../../parse/container/parsed-container.ts';
import type { FrozenEdit } from '../../freeze/frozen-container.ts';
import { readLine, readLines, type LineRange } from './line-ranges.ts';

/** The edits of a file and of the files inside of it. Only their places are in memory. */
export interface EditTree {
  /** The objects that have edits; `null` stands for a file without objects. */
  readonly pathIds: readonly (bigint | null)[];
  /** The files inside that have edits, by their names. */
  readonly children: ReadonlyMap<string, EditTree>;
  /** Reads the edits of an object, or of a file without objects. */
  edits(pathId: bigint | null): readonly FieldEdit[];
}

/** The edits of a container. */
export interface ContainerEdits {
  readonly root: EditTree;
  readonly count: number;
  /** Reads the edits of the part of a container. */
  at(location: Pick<PartLocation, 'archiveEntry' | 'pathId'>): readonly FieldEdit[];
}

class EditNode implements EditTree {
  readonly children = new Map<string, EditNode>();
  readonly #ranges = new Map<string, LineRange[]>();
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get pathIds(): readonly (bigint | null)[] {
    return Array.from(this.#ranges.keys(), (key) => (key === '' ? null : BigInt(key)));
  }

  edits(pathId: bigint | null): readonly FieldEdit[] {
    const edits: FieldEdit[] = [];
    for (const range of this.#ranges.get(String(pathId ?? '')) ?? []) {
      for (const line of readLines(this.#descriptor, range)) {
        const { fieldPath, source, target } = parseEdit(line);
        edits.push({ fieldPath, source, target });
      }
    }
    return edits;
  }

  /** Notes a line; neighbours become one range. */
  add(pathId: string | null, { offset, length }: LineRange): void {
    const key = pathId ?? '';
    const ranges = this.#ranges.get(key) ?? [];
    const last = ranges.at(-1);
    if (last?.offset !== undefined && last.offset + last.length === offset) {
      ranges[ranges.length - 1] = { offset: last.offset, length: last.length + length };
    } else ranges.push({ offset, length });
    this.#ranges.set(key, ranges);
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
  let last: { readonly entry: string | null; readonly node: EditNode } = { entry: null, node: root };
  for (const { text, offset, length } of readLine(descriptor)) {
    const { archiveEntry, pathId } = parseEdit(text);
    if (archiveEntry !== last.entry) last = { entry: archiveEntry, node: nodeOf(root, archiveEntry) };
    last.node.add(pathId, { offset, length });
    count += 1;
  }
  return {
    root,
    count,
    at: ({ archiveEntry, pathId }) => findNode(root, archiveEntry)?.edits(pathId) ?? [],
  };
}

function parseEdit(line: string): FrozenEdit {
  return JSON.parse(line) as FrozenEdit;
}

function nodeOf(root: EditNode, entry: string | null): EditNode {
  if (entry === null) return root;
  return namesOnTheWay(entry).reduce((node, name) => node.child(name), root);
}

function findNode(root: EditNode, entry: string | null): EditNode | undefined {
  if (entry === null) return root;
  return namesOnTheWay(entry).reduce<EditNode | undefined>((node, name) => node?.children.get(name), root);
}
