import type { ByteSource } from '../byte-source.ts';
import { newPiece, type OutputPiece } from '../patch/output-pieces.ts';
import type { SplicedSource } from '../patch/spliced-source.ts';
import type { ReadLimits } from '../value-visitor.ts';
import { patchBundle, sizeUnitOf } from './bundle-patch.ts';
import { openBundle, type BundleNode } from './bundle.ts';
import { replaceScript, scriptOf } from './object-splices.ts';
import { openSerializedFile, type SerializedFile, type SerializedObject } from './serialized-file.ts';
import { isSerializedFile } from './serialized-header.ts';
import { spliceSerializedFile } from './splice-serialized-file.ts';
import { CLASS_IDS } from './type-tree.ts';

/** A text asset of a bundle, which holds a whole file. */
interface BundleTextAsset {
  /** The path id with {@link TEXT_ASSET_EXTENSION}; behind the name of its file in the bundle, where there are several. */
  readonly name: string;
  /** Bytes of its object, which are a few more than those of the file. */
  readonly size: number;
  /** @throws FormatError when the object cannot be read */
  readonly read: () => Buffer;
}

interface BundleTextAssets {
  readonly assets: readonly BundleTextAsset[];
  /**
   * The bundle with other files in some text assets; all other objects keep their bytes.
   *
   * @param contents by the names of the assets
   * @throws FormatError, PatchError when it cannot be written
   */
  readonly write: (contents: ReadonlyMap<string, Uint8Array>) => Generator<OutputPiece, void, undefined>;
}

const TEXT_ASSET_EXTENSION = '.textasset';

interface FoundAsset extends BundleTextAsset {
  readonly file: SerializedFile;
  readonly node: BundleNode;
  readonly object: SerializedObject;
}

/**
 * Opens the text assets of a bundle, which is small: the catalog of a game, not its content.
 *
 * @throws FormatError when the bundle or one of its files cannot be opened
 */
export function openTextAssets(source: ByteSource, limits: ReadLimits): BundleTextAssets {
  const bundle = openBundle(source, limits);
  const files = bundle.nodes.flatMap((node) => {
    const inner = bundle.open(node);
    return isSerializedFile(inner) ? [{ node, file: openSerializedFile(inner, { limits }) }] : [];
  });
  const assets = files.flatMap(({ node, file }) =>
    file.objects.flatMap((object): FoundAsset[] => {
      if (object.type.classId !== CLASS_IDS.textAsset) return [];
      const own = `${object.pathId}${TEXT_ASSET_EXTENSION}`;
      const name = files.length === 1 ? own : `${node.name}/${own}`;
      return [{ name, size: object.size, read: () => scriptOf(file, object, limits), file, node, object }];
    }),
  );
  return {
    assets,
    *write(contents) {
      const changes = new Map<BundleNode, SplicedSource>();
      for (const { node, file } of files) {
        const changed = assets.flatMap((asset) => {
          const content = asset.node === node ? contents.get(asset.name) : undefined;
          if (content === undefined) return [];
          return [[asset.object, replaceScript(file, asset.object, content, limits)] as const];
        });
        if (changed.length === 0) continue;
        changes.set(node, spliceSerializedFile(file, new Map(changed), sizeUnitOf(bundle, node)));
      }
      for (const chunk of patchBundle(source, bundle, changes).chunks()) yield newPiece(chunk);
    },
  };
}
