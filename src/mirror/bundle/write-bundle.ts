import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  BUNDLE_LAYERS,
  BUNDLE_PACK_BYTES,
  OCI_EMPTY_CONFIG,
  OCI_EMPTY_CONFIG_TEXT,
  OCI_MANIFEST_MAX_BYTES,
  OCI_MANIFEST_TYPE,
  renderBundleIndex,
  renderBundleManifest,
  renderListedObject,
  renderObjectListHeader,
  renderOciLayout,
  type Descriptor,
} from '../../contract/formats/bundle-format.ts';
import { manifestDigestOf } from '../../domain/release/digest.ts';
import { manifestPath } from '../../snapshot/volume/layout.ts';
import { BundleError } from './bundle-error.ts';
import type { ExportPlan } from './export-plan.ts';
import { ObjectSequence } from './read-objects.ts';
import { TAR_END, tarHeader, tarPadding } from './tar-file.ts';

/** Where the bytes of a bundle go. It resolves when it takes more; the bytes are then free for reuse. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>;

interface WriteBundleOptions {
  readonly plan: ExportPlan;
  readonly write: WriteBytes;
  readonly onProgress: (bytes: number) => void;
  readonly signal: AbortSignal;
  /** Bytes of a pack; {@link BUNDLE_PACK_BYTES} by default. */
  readonly packBytes?: number;
}

const LIST_PIECE = 4096;

/**
 * Writes the bundle of a release, front to back. The same plan always gives the same bytes. Memory holds one pack.
 * `index.json` is last, so a bundle that breaks off is not taken for a whole one.
 *
 * @returns the digest of the image manifest, which identifies the bundle in a registry
 * @throws ObjectFault when an object is missing or damaged; the file system error; what `write` throws; the signal's reason
 */
export async function writeBundle(options: WriteBundleOptions): Promise<string> {
  const { plan, write } = options;
  const archive = new LayoutArchive(write);
  await archive.file('oci-layout', Buffer.from(renderOciLayout()));
  await archive.blob(OCI_EMPTY_CONFIG.mediaType, Buffer.from(OCI_EMPTY_CONFIG_TEXT));
  const attestation = await archive.blob(BUNDLE_LAYERS.attestation, plan.envelope);
  const digest = manifestDigestOf(plan.release.snapshot_id);
  if (digest === null) throw new RangeError(`not a snapshot id: ${plan.release.snapshot_id}`);
  const path = manifestPath(plan.root, digest);
  const manifest = await archive.pieces(BUNDLE_LAYERS.manifest, () => createReadStream(path));
  const objects = await archive.pieces(BUNDLE_LAYERS.objects, () => listObjects(plan));
  const packs = await writePacks(archive, options);
  const image = Buffer.from(renderBundleManifest({ attestation, manifest, objects, packs }, plan));
  if (image.length > OCI_MANIFEST_MAX_BYTES) {
    throw new BundleError(
      `the release has ${packs.length} packs: their list has ${image.length} bytes, and registries take ${OCI_MANIFEST_MAX_BYTES}; export it with --since a release that the other side has`,
    );
  }
  const described = await archive.blob(OCI_MANIFEST_TYPE, image);
  await archive.file('index.json', Buffer.from(renderBundleIndex(described, plan.release.release_id)));
  await write(TAR_END);
  return described.digest;
}

async function writePacks(
  archive: LayoutArchive,
  { plan, onProgress, signal, packBytes = BUNDLE_PACK_BYTES }: WriteBundleOptions,
): Promise<Descriptor[]> {
  const packs: Descriptor[] = [];
  const sequence = new ObjectSequence(plan.root, plan.objects);
  const buffer = Buffer.allocUnsafe(Math.min(packBytes, Math.max(plan.bytes, 1)));
  let written = 0;
  try {
    for (;;) {
      signal.throwIfAborted();
      const filled = await sequence.fill(buffer);
      if (filled === 0) break;
      packs.push(await archive.blob(BUNDLE_LAYERS.pack, buffer.subarray(0, filled)));
      written += filled;
      onProgress(written);
      // Reads are synchronous: without this, an interrupt would wait for the end.
      await nextTurn();
    }
  } finally {
    await sequence.close();
  }
  return packs;
}

function* listObjects({ objects, bytes, since }: ExportPlan): Generator<Buffer, void> {
  let text = renderObjectListHeader({
    objects: objects.length,
    bytes,
    ...(since === null ? {} : { since }),
  });
  for (let id = 0; id < objects.length; id += 1) {
    text += renderListedObject({ blake3: objects.blake3(id), size: objects.size(id) });
    if (id % LIST_PIECE === LIST_PIECE - 1) {
      yield Buffer.from(text);
      text = '';
    }
  }
  yield Buffer.from(text);
}

/** Writes the files of an OCI image layout into an archive. Source: OCI image specification 1.1, `image-layout.md`. */
class LayoutArchive {
  readonly #write: WriteBytes;
  readonly #blobs = new Set<string>();

  constructor(write: WriteBytes) {
    this.#write = write;
  }

  async file(path: string, bytes: Uint8Array): Promise<void> {
    await this.#write(tarHeader(path, bytes.length));
    await this.#write(bytes);
    await this.#write(tarPadding(bytes.length));
  }

  async blob(mediaType: string, bytes: Uint8Array): Promise<Descriptor> {
    const hex = createHash('sha256').update(bytes).digest('hex');
    if (!this.#blobs.has(hex)) await this.file(blobPath(hex), bytes);
    this.#blobs.add(hex);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  }

  /** Writes a blob of any size, which is read twice: its name is its digest, and stands before it. */
  async pieces(mediaType: string, read: () => AsyncIterable<Buffer> | Iterable<Buffer>): Promise<Descriptor> {
    const first = createHash('sha256');
    let size = 0;
    for await (const piece of read()) {
      first.update(piece);
      size += piece.length;
    }
    const hex = first.digest('hex');
    await this.#write(tarHeader(blobPath(hex), size));
    const second = createHash('sha256');
    for await (const piece of read()) {
      second.update(piece);
      await this.#write(piece);
    }
    await this.#write(tarPadding(size));
    if (second.digest('hex') !== hex) throw new BundleError(`the ${mediaType} changed while it was read`);
    return { mediaType, digest: `sha256:${hex}`, size };
  }
}

function blobPath(hex: string): string {
  return `blobs/sha256/${hex}`;
}
