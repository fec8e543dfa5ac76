import { createHash } from 'node:crypto';
import type { TrustedKey } from '../../attestation/keys.ts';
import { verifyEnvelope } from '../../attestation/verify.ts';
import { OCI_EMPTY_CONFIG } from '../../contract/formats/bundle-format.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { AttestationStatement } from '../../domain/verdict/attestation.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import { ENTRY_STATUSES } from '../../snapshot/objects/object-ledger.ts';
import { countText } from '../../domain/count-text.ts';
import type { SourceRelease } from '../attested-source.ts';
import { authorizedRelease } from '../authorized-release.ts';
import { MirrorError } from '../mirror-error.ts';
import { readManifest } from '../read-manifest.ts';
import { readBlob } from './blob-reader.ts';
import { BundleError } from './bundle-error.ts';
import { describeBundle } from './describe-bundle.ts';
import type { Bundle } from './open-bundle.ts';

interface BundleCheckOptions {
  readonly trustedKeys: readonly TrustedKey[];
  /** Whether the reader of the bundle has an object that an incremental bundle leaves out. */
  readonly isHeld: (blake3: Blake3Hex, size: number) => Promise<boolean>;
  readonly onProgress: (bytes: number) => void;
  readonly signal: AbortSignal;
}

export interface CheckedBundle {
  readonly release: SourceRelease;
  readonly version: number;
  /** When it was signed, Unix seconds. */
  readonly issuedAt: number;
}

/**
 * Checks everything in a bundle: the signature of the attestation, the manifest against the signed digest, that each
 * object of the manifest is in the bundle or held already, and the bytes of every pack and every object.
 *
 * @throws BundleError or MirrorError with the first fault; what the reader throws; the signal's reason
 */
export async function checkBundle(bundle: Bundle, options: BundleCheckOptions): Promise<CheckedBundle> {
  const verified = verifyEnvelope(bundle.envelope, options.trustedKeys);
  if (!verified.ok) throw new MirrorError('origin_untrusted', verified.error.message);
  const { statement } = verified.value;
  await readBlob(bundle.reader, OCI_EMPTY_CONFIG, OCI_EMPTY_CONFIG.size, options.signal);
  const release = releaseOf(bundle, statement);
  await checkEntries(bundle, release, options);
  await checkPacks(bundle, options);
  return { release, version: statement.version, issuedAt: statement.issued_at };
}

function releaseOf({ reader, snapshotId }: Bundle, statement: AttestationStatement): SourceRelease {
  const release = authorizedRelease(statement, snapshotId);
  if (release !== null) return release;
  throw new BundleError(
    `${reader.label}: its attestation does not authorize the release in it (${snapshotId})`,
  );
}

async function checkEntries(
  bundle: Bundle,
  release: SourceRelease,
  { isHeld, signal }: BundleCheckOptions,
): Promise<void> {
  const { objects, reader, since } = bundle;
  const manifest = await describeBundle(bundle, release, signal);
  const { attested } = release;
  const document = attested.server_info;
  let named = 0;
  const name = (id: number): void => {
    if (objects.status(id) === null) named += 1;
    objects.setStatus(id, ENTRY_STATUSES[0]);
  };
  if (document !== null && objects.find(document.blake3) >= 0) name(objects.find(document.blake3));
  const look = async ({ blake3, size, destination }: ManifestEntry): Promise<void> => {
    const id = objects.find(blake3);
    if (id >= 0) {
      if (objects.size(id) !== size)
        throw new BundleError(`${reader.label}: the sizes of ${destination} differ`);
      name(id);
    } else if (!(await isHeld(blake3, size))) {
      throw new BundleError(
        since === null
          ? `${reader.label} does not hold the object of ${destination}`
          : `${reader.label} leaves out what ${since.channel} release ${since.release_id} has, and ${destination} is not here: import that release first, or take a bundle that was exported without --since`,
      );
    }
  };
  for await (const page of readManifest(manifest, release)) for (const entry of page) await look(entry);
  if (named !== objects.length) {
    throw new BundleError(
      `${reader.label} holds ${countText(objects.length - named, 'object')} that its release does not name`,
    );
  }
}

async function checkPacks(bundle: Bundle, { onProgress, signal }: BundleCheckOptions): Promise<void> {
  const check = new ObjectCheck(bundle);
  let read = 0;
  check.skipEmpty();
  for (const pack of bundle.layers.packs) {
    const hash = createHash('sha256');
    for await (const piece of bundle.reader.read(pack, 0, pack.size, signal)) {
      hash.update(piece);
      check.update(piece);
      read += piece.length;
      onProgress(read);
    }
    const found = `sha256:${hash.digest('hex')}`;
    if (found === pack.digest) continue;
    throw new BundleError(
      `${bundle.reader.label}: the pack ${pack.digest} has the digest ${found}: it is damaged`,
    );
  }
}

/** Compares the digests of objects while their bytes go by. */
class ObjectCheck {
  readonly #bundle: Bundle;
  readonly #hasher = createBlake3();
  #id = 0;
  #read = 0;

  constructor(bundle: Bundle) {
    this.#bundle = bundle;
  }

  update(bytes: Uint8Array): void {
    const { objects } = this.#bundle;
    for (let at = 0; at < bytes.length;) {
      const taken = Math.min(bytes.length - at, objects.size(this.#id) - this.#read);
      this.#hasher.update(bytes.subarray(at, at + taken));
      at += taken;
      this.#read += taken;
      if (this.#read === objects.size(this.#id)) this.#finish();
      this.skipEmpty();
    }
  }

  skipEmpty(): void {
    const { objects } = this.#bundle;
    while (this.#id < objects.length && objects.size(this.#id) === 0) this.#finish();
  }

  #finish(): void {
    const { objects, reader } = this.#bundle;
    const found = this.#hasher.digest().toString('hex');
    this.#hasher.reset();
    const wanted = objects.blake3(this.#id);
    if (found !== wanted) throw new BundleError(`${reader.label}: object ${wanted} has the digest ${found}`);
    this.#id += 1;
    this.#read = 0;
  }
}
