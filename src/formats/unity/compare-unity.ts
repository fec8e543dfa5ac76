import { PatchError } from '../patch/patch-error.ts';
import { isSameRange, isSameSource, type ByteRange } from '../patch/same-bytes.ts';
import type { Bundle, BundleNode } from './bundle.ts';
import type { SerializedFile, SerializedObject } from './serialized-file.ts';
import { LARGE_SINCE, SIZE_FIELD } from './serialized-header.ts';
import { SHIFT_UNIT } from './splice-serialized-file.ts';

const PATH_ID_BYTES = 8;

/**
 * Checks that a patched bundle has the same files, and that those without an edit have the same bytes.
 *
 * @returns the number of files that are unchanged
 * @throws PatchError `round_trip_failed`; FormatError when a block cannot be read
 */
export function compareBundles(left: Bundle, right: Bundle, changed: ReadonlySet<BundleNode>): number {
  const headOf = ({ header: { version, playerVersion, engineVersion } }: Bundle): string =>
    JSON.stringify([version, playerVersion, engineVersion]);
  if (headOf(left) !== headOf(right)) throw differs('the headers of the bundles differ');
  if (left.nodes.length !== right.nodes.length) throw differs('the bundles have other files');
  for (const [number, node] of left.nodes.entries()) {
    const other = right.nodes[number];
    const name = JSON.stringify(node.name);
    if (other?.name !== node.name || other.flags !== node.flags)
      throw differs(`the file ${name} is another one`);
    if (changed.has(node)) continue;
    if (!isSameSource(left.open(node), right.open(other)))
      throw differs(`the bytes of the file ${name} differ`);
  }
  return left.nodes.length - changed.size;
}

/**
 * Checks that a patched serialized file has the same metadata, apart from places and sizes, and the same bytes of all
 * objects without an edit.
 *
 * @returns the number of objects that are unchanged
 * @throws PatchError `round_trip_failed`, and what `compareObject` throws; FormatError when a file cannot be read
 */
export function compareSerializedFiles(
  left: SerializedFile,
  right: SerializedFile,
  changed: ReadonlySet<SerializedObject>,
  compareObject: (before: SerializedObject, after: SerializedObject) => void,
): number {
  if (left.header.dataOffset !== right.header.dataOffset || !metadataOf(left).equals(metadataOf(right))) {
    throw differs('the metadata differs');
  }
  for (const [number, object] of left.objects.entries()) {
    const other = right.objects[number];
    if (other === undefined) throw differs('an object is missing');
    if ((other.offset - object.offset) % SHIFT_UNIT !== 0) {
      throw differs(`object ${object.pathId} has another alignment`);
    }
    if (changed.has(object)) compareObject(object, other);
    else if (!isSameRange(rangeOf(left, object), rangeOf(right, other))) {
      throw differs(`the bytes of object ${object.pathId} differ`);
    }
  }
  return left.objects.length - changed.size;
}

/** The metadata without places and sizes. */
function metadataOf({ source, header, objects }: SerializedFile): Buffer {
  const bytes = Buffer.from(source.read(0, header.headerBytes + header.metadataBytes));
  const isLarge = header.version >= LARGE_SINCE;
  const sizeField = isLarge ? SIZE_FIELD.large : SIZE_FIELD.small;
  bytes.fill(0, sizeField, sizeField + (isLarge ? 8 : 4));
  for (const { entryOffset } of objects) {
    const at = entryOffset + PATH_ID_BYTES;
    bytes.fill(0, at, at + (isLarge ? 12 : 8));
  }
  return bytes;
}

function rangeOf({ source }: SerializedFile, { offset, size }: SerializedObject): ByteRange {
  return { source, offset, length: size };
}

function differs(message: string): PatchError {
  return new PatchError('round_trip_failed', '', message);
}
