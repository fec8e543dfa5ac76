import { findNodeAtLocation, parseTree, type Node } from 'jsonc-parser';
import { expect } from 'vitest';
import { isRecord } from '../../src/domain/is-record.ts';

/** A bundle as UnityPy shows it: the digests of files that hold no objects, and the fields of the objects by path id. */
export interface PeerBundle {
  readonly files: Readonly<Record<string, string>>;
  readonly objects: Readonly<Record<string, unknown>>;
}

/** The text that a field of an object gets. Behind `#` stands the place in the JSON or CSV that the field holds. */
export interface PeerEdit {
  readonly fieldPath: string;
  readonly source: string;
  readonly target: string;
}

/**
 * Expects that UnityPy finds the edited texts at their places in the patched bundle, and everything else as it was.
 *
 * @param edits by the ids of their objects
 */
export function expectPatchedObjects(
  { before, after }: { readonly before: PeerBundle | undefined; readonly after: PeerBundle | undefined },
  edits: ReadonlyMap<string, readonly PeerEdit[]>,
): void {
  const objects = before?.objects ?? {};
  expect([...edits.keys()].filter((id) => !Object.hasOwn(objects, id))).toEqual([]);
  expect(after?.files).toEqual(before?.files);
  expect(after?.objects).toEqual(
    Object.fromEntries(
      Object.entries(objects).map(([id, fields]) => [
        id,
        (edits.get(id) ?? []).reduce<unknown>((value, edit) => withEdit(value, edit), fields),
      ]),
    ),
  );
}

/** The fields of an object with one text replaced. */
function withEdit(fields: unknown, { fieldPath, source, target }: PeerEdit): unknown {
  const [path = '', pointer] = fieldPath.split('#');
  return replaceAt(fields, path.match(/[^.[\]]+/g) ?? [], (old) => {
    if (pointer === undefined) {
      expect(old).toBe(source);
      return target;
    }
    const texts = { source, target };
    return pointer.startsWith('/') ? withJsonEdit(old, pointer, texts) : withCellEdit(old, texts);
  });
}

function replaceAt(value: unknown, steps: readonly string[], replace: (old: string) => string): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return replace(String(value));
  if (Array.isArray(value)) {
    // UnityPy reads an entry of a map as a list of key and value.
    const names = ['first', 'second'];
    // A managed reference is named by its id.
    const reference = value.findIndex((each: unknown) => isRecord(each) && each['rid'] === step);
    const index = reference >= 0 ? reference : names.includes(step) ? names.indexOf(step) : Number(step);
    return value.map((each, at) => (at === index ? replaceAt(each, rest, replace) : each));
  }
  const entries = Object.entries(value as Record<string, unknown>);
  expect(entries.map(([key]) => key)).toContain(step);
  return Object.fromEntries(
    entries.map(([key, each]) => [key, key === step ? replaceAt(each, rest, replace) : each]),
  );
}

/** A CSV text with one cell replaced, whose text must be in it once, and every other character as it was. */
function withCellEdit(csv: string, { source, target }: Pick<PeerEdit, 'source' | 'target'>): string {
  const parts = csv.split(source.replaceAll('"', '""'));
  expect(parts).toHaveLength(2);
  return parts.join(target.replaceAll('"', '""'));
}

/** A JSON text with one string replaced, and every other character as it was. */
function withJsonEdit(
  json: string,
  pointer: string,
  { source, target }: Pick<PeerEdit, 'source' | 'target'>,
): string {
  const node = pointer
    .split('/')
    .slice(1)
    .reduce<Node | undefined>(
      (parent, step) => parent && findNodeAtLocation(parent, [parent.type === 'array' ? Number(step) : step]),
      parseTree(json),
    );
  expect(node?.value).toBe(source);
  const { offset = 0, length = 0 } = node ?? {};
  return json.slice(0, offset) + JSON.stringify(target) + json.slice(offset + length);
}
