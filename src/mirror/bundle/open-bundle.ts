import { ENVELOPE_MAX_BYTES } from '../../contract/formats/attestation-format.ts';
import {
  OBJECT_LINE_MAX_BYTES,
  OCI_MANIFEST_MAX_BYTES,
  parseBundleManifest,
  parseListedObject,
  parseObjectListHeader,
  type BundleLayers,
  type Descriptor,
  type NamedSnapshot,
  type ObjectListHeader,
} from '../../contract/formats/bundle-format.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { ObjectLedger } from '../../snapshot/objects/object-ledger.ts';
import { checkedBlob, linesOf, readBlob, type BlobReader } from './blob-reader.ts';
import { readManifestText } from '../manifest-text.ts';
import { accept, BundleError } from './bundle-error.ts';

/** A bundle whose lists were read and have the digests that its image manifest names. Its signature was not looked at. */
export interface Bundle {
  readonly reader: BlobReader;
  /** Of the image manifest. */
  readonly digest: string;
  readonly layers: BundleLayers;
  /** The snapshot that the bundle says it holds; the digest of its manifest decides. */
  readonly snapshotId: string;
  readonly envelope: Buffer;
  readonly since: NamedSnapshot | null;
  /** The objects, in the order of their bytes in the packs. */
  readonly objects: ObjectLedger;
  /** Where each object begins in the sequence of the packs; one more than there are objects: the end. */
  readonly offsets: Float64Array;
}

/**
 * Reads an image manifest and the lists it names.
 *
 * @throws BundleError when it is not one of a bundle, or something is damaged
 */
export async function openBundle(
  reader: BlobReader,
  described: Descriptor,
  signal: AbortSignal,
): Promise<Bundle> {
  const text = await readBlob(reader, described, OCI_MANIFEST_MAX_BYTES, signal);
  const { layers, snapshotId } = accept(parseBundleManifest(text.toString('utf8')), reader.label);
  const envelope = await readBlob(reader, layers.attestation, ENVELOPE_MAX_BYTES, signal);
  const { header, objects, offsets } = await readObjectList(reader, layers.objects, signal);
  const packed = layers.packs.reduce((sum, { size }) => sum + size, 0);
  const total = offsets[objects.length] ?? 0;
  if (header.objects !== objects.length || header.bytes !== total || packed !== total) {
    throw new BundleError(
      `${reader.label}: the list of objects announces ${header.objects} objects of ${header.bytes} bytes, names ` +
        `${objects.length} of ${total}, and the packs have ${packed} bytes`,
    );
  }
  return {
    reader,
    digest: described.digest,
    layers,
    snapshotId,
    envelope,
    since: header.since ?? null,
    objects,
    offsets,
  };
}

async function readObjectList(
  reader: BlobReader,
  blob: Descriptor,
  signal: AbortSignal,
): Promise<{ header: ObjectListHeader; objects: ObjectLedger; offsets: Float64Array }> {
  const objects = new ObjectLedger();
  let header: ObjectListHeader | null = null;
  for await (const lines of linesOf(checkedBlob(reader, blob, signal), OBJECT_LINE_MAX_BYTES, reader.label)) {
    for (const line of lines) {
      if (header === null) {
        header = accept(parseObjectListHeader(line), reader.label);
        continue;
      }
      const { blake3, size } = accept(parseListedObject(line), reader.label);
      if (objects.find(blake3) >= 0)
        throw new BundleError(`${reader.label}: object ${blake3} is listed twice`);
      if (objects.length === header.objects)
        throw new BundleError(`${reader.label}: more objects are listed than announced`);
      objects.add(blake3, size);
    }
  }
  if (header === null) throw new BundleError(`${reader.label}: the list of objects is empty`);
  const offsets = new Float64Array(objects.length + 1);
  for (let id = 0; id < objects.length; id += 1) offsets[id + 1] = (offsets[id] ?? 0) + objects.size(id);
  return { header, objects, offsets };
}

/**
 * Begins to read the release manifest of a bundle.
 *
 * @throws BundleError when its first line is not one of a manifest; the iteration, when another line is not
 */
export async function readBundledManifest(
  { reader, layers }: Bundle,
  signal: AbortSignal,
): ReturnType<typeof readManifestText> {
  const { manifest } = layers;
  return await readManifestText(reader.read(manifest, 0, manifest.size, signal), reader.label);
}

interface PackRange {
  readonly pack: Descriptor;
  readonly start: number;
  readonly end: number;
}

/**
 * Where the bytes of an object of a bundle lie.
 *
 * @param id of the object in the list of the bundle
 * @param skip bytes of the object that are left out at its beginning
 */
export function* packRanges({ layers, offsets }: Bundle, id: number, skip = 0): Generator<PackRange, void> {
  const [from, to] = [(offsets[id] ?? 0) + skip, offsets[id + 1] ?? 0];
  let packStart = 0;
  for (const pack of layers.packs) {
    const packEnd = packStart + pack.size;
    const [begin, end] = [Math.max(from, packStart), Math.min(to, packEnd)];
    if (begin < end) yield { pack, start: begin - packStart, end: end - packStart };
    if (packEnd >= to) return;
    packStart = packEnd;
  }
}

/**
 * The bytes of an object of a bundle, from `start` on. They are not verified.
 *
 * @throws BundleError when a pack is missing or shorter
 */
export async function* readBundledObject(
  bundle: Bundle,
  blake3: Blake3Hex,
  start: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const { reader, objects } = bundle;
  const id = objects.find(blake3);
  if (id < 0) throw new BundleError(`${reader.label} does not hold object ${blake3}`);
  for (const range of packRanges(bundle, id, start))
    yield* reader.read(range.pack, range.start, range.end, signal);
}
