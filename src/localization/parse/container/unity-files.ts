import { compareDestinations } from '../../../domain/release/destination.ts';
import { stableNames } from '../../../domain/text/stable-name.ts';
import type { ByteSource } from '../../../formats/byte-source.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { openBundle, type Bundle, type BundleNode } from '../../../formats/unity/bundle.ts';
import { isUnityBundle } from '../../../formats/unity/bundle-header.ts';
import { openSerializedFile, type SerializedFile } from '../../../formats/unity/serialized-file.ts';
import { isSerializedFile } from '../../../formats/unity/serialized-header.ts';
import { readTypeTreeFile, type TypeTreeOf } from '../../../formats/unity/type-tree-file.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import {
  attemptPart,
  locationOf,
  nestedName,
  type ContainerScope,
  type IssueSink,
  type Part,
} from './container-run.ts';

const SIGNATURE_BYTES = 16;

export function isBundle({ source }: Part): boolean {
  return isUnityBundle(source.read(0, Math.min(SIGNATURE_BYTES, source.size)));
}

export interface BundlePart extends Part {
  readonly node: BundleNode;
  readonly isRepeated: boolean;
  readonly isAmbiguous: boolean;
}

/**
 * The serialized files of a bundle in the order of their names. The others have no text. They are entries only where a
 * bundle has several.
 *
 * @throws FormatError when the bundle cannot be opened, or when none of its files can be read
 */
export function filesOf(
  { limits }: ContainerScope,
  part: Part,
  issues: IssueSink = { report: () => undefined, skip: () => undefined },
): { readonly bundle: Bundle; readonly files: readonly BundlePart[] } {
  const bundle = openBundle(part.source, limits);
  const files: { readonly node: BundleNode; readonly source: ByteSource }[] = [];
  let unreadable = 0;
  for (const node of bundle.nodes) {
    const source = bundle.open(node);
    const isLast = unreadable === bundle.nodes.length - 1;
    const check = (): boolean => isSerializedFile(source);
    const found = isLast
      ? check()
      : attemptPart(issues, locationOf(nestedName(part, node.name, node.name), 'unity'), check);
    if (found === null) unreadable += 1;
    else if (found) files.push({ node, source });
  }
  issues.skip('binary', bundle.nodes.length - unreadable - files.length);
  const counts = new Map<string, number>();
  for (const { node } of files) counts.set(node.name, (counts.get(node.name) ?? 0) + 1);
  const stable = stableNames(() => counts.keys());
  const parts = files
    .toSorted((left, right) => compareDestinations(left.node.name, right.node.name))
    .map(({ node, source }) => ({
      ...part,
      ...(files.length === 1 ? {} : nestedName(part, node.name, stable.keyOf(node.name))),
      node,
      source,
      isRepeated: counts.get(node.name) !== 1,
      isAmbiguous: stable.isAmbiguous(node.name),
    }));
  return { bundle, files: parts };
}

/** Opens a serialized file. @throws FormatError when it cannot be opened, or when another file of its bundle has its name */
export function openUnityFile(
  { limits }: ContainerScope,
  rule: CompiledRule,
  part: Part & { readonly isRepeated?: boolean },
): SerializedFile {
  if (part.isRepeated === true) {
    throw new FormatError('bundle_invalid', 'another file in the bundle has its name');
  }
  return openSerializedFile(part.source, { limits, typeTreeOf: configuredTypeTrees(limits.depth, rule) });
}

const TYPE_TREES = new WeakMap<Uint8Array, TypeTreeOf>();

function configuredTypeTrees(depth: number, { typeTrees }: CompiledRule): TypeTreeOf {
  if (typeTrees === null) return () => null;
  let found = TYPE_TREES.get(typeTrees);
  if (found === undefined) {
    found = readTypeTreeFile(Buffer.from(typeTrees).toString(), depth);
    TYPE_TREES.set(typeTrees, found);
  }
  return found;
}
