import { bytesSource } from '../../src/formats/byte-source.ts';
import type { SplicedSource } from '../../src/formats/patch/spliced-source.ts';
import type { ValueEdit } from '../../src/formats/patch/find-places.ts';
import { type BundleDigests, bundleDigests } from '../../src/formats/unity/bundle-digests.ts';
import { type BundlePatch, patchBundle, sizeUnitOf } from '../../src/formats/unity/bundle-patch.ts';
import { type BundleNode, openBundle } from '../../src/formats/unity/bundle.ts';
import { objectSplices } from '../../src/formats/unity/object-splices.ts';
import {
  openSerializedFile,
  type SerializedFile,
  type SerializedFileOptions,
} from '../../src/formats/unity/serialized-file.ts';
import { isSerializedFile } from '../../src/formats/unity/serialized-header.ts';
import { spliceSerializedFile } from '../../src/formats/unity/splice-serialized-file.ts';
import { READ_LIMITS } from '../../src/formats/value-visitor.ts';

/** Edits of objects by their path ids. */
export type UnityEdits = ReadonlyMap<bigint, readonly ValueEdit[]>;

/** A patched bundle with its bytes. */
export interface PatchedBundle extends BundlePatch, BundleDigests {
  readonly bytes: Buffer;
}

/** Patches every serialized file of a bundle. */
export function patchUnityBundle(
  bytes: Buffer,
  edits: UnityEdits,
  options: Partial<SerializedFileOptions> = {},
): PatchedBundle {
  const source = bytesSource(bytes);
  const bundle = openBundle(source, READ_LIMITS);
  const changes = new Map<BundleNode, SplicedSource>();
  for (const node of bundle.nodes) {
    const inner = bundle.open(node);
    if (!isSerializedFile(inner)) continue;
    const file = openSerializedFile(inner, { limits: READ_LIMITS, ...options });
    if (file.objects.some(({ pathId }) => edits.has(pathId))) {
      changes.set(node, patchFile(file, edits, sizeUnitOf(bundle, node)));
    }
  }
  const patch = patchBundle(source, bundle, changes);
  const patched = Buffer.concat([...patch.chunks()]);
  return { ...patch, ...bundleDigests(openBundle(bytesSource(patched), READ_LIMITS)), bytes: patched };
}

/** Patches a serialized file. */
export function patchUnityFile(
  bytes: Buffer,
  edits: UnityEdits,
  options: Partial<SerializedFileOptions> = {},
): Buffer {
  const file = openSerializedFile(bytesSource(bytes), { limits: READ_LIMITS, ...options });
  const patched = patchFile(file, edits);
  return Buffer.from(patched.read(0, patched.size));
}

function patchFile(file: SerializedFile, edits: UnityEdits, sizeUnit?: number): SplicedSource {
  const changes = new Map(
    file.objects.flatMap((object) => {
      const own = edits.get(object.pathId);
      return own === undefined ? [] : [[object, objectSplices(file, object, own, READ_LIMITS)] as const];
    }),
  );
  return spliceSerializedFile(file, changes, sizeUnit);
}
