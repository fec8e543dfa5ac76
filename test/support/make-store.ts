import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { keyIdOf, type SigningKey, type TrustedKey } from '../../src/attestation/keys.ts';
import { signStatement } from '../../src/attestation/sign.ts';
import { renderManifestEntry, renderManifestHeader } from '../../src/contract/formats/manifest-format.ts';
import { renderStoreFormat } from '../../src/contract/formats/store-format.ts';
import type {
  AttestationStatement,
  AttestedRelease,
  CurrentAttestedRelease,
} from '../../src/domain/verdict/attestation.ts';
import { hasBlockList } from '../../src/domain/release/blocks.ts';
import { blockListOf } from './block-list-of.ts';
import type { Channel } from '../../src/domain/release/channel.ts';
import { snapshotIdOf, type Blake3Hex, type SnapshotId } from '../../src/domain/release/digest.ts';
import {
  compareDestinations,
  parseDestination,
  type Destination,
} from '../../src/domain/release/destination.ts';
import type { ManifestEntry } from '../../src/domain/release/manifest.ts';
import { mediaTypeOf } from '../../src/domain/http/media-type.ts';
import { parseReleaseId, type ReleaseId } from '../../src/domain/release/release-id.ts';
import type { ServerInfoDocument } from '../../src/domain/release/server-info-document.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { crc64Decimal } from './crc64-decimal.ts';
import { blockListPath, formatPath, manifestPath, objectPath } from '../../src/snapshot/volume/layout.ts';

/** A release to put into a store. */
export interface StoredRelease {
  readonly releaseId: string;
  readonly channel?: Channel;
  readonly baseReleaseId?: string;
  readonly files: Readonly<Record<string, string | Buffer>>;
  /** The server-info document beside the manifest. */
  readonly document?: string | Buffer;
  readonly appVersion?: string;
}

/** The content of an attestation. Times in Unix seconds. */
export interface Attestation {
  readonly version: number;
  readonly issuedAt: number;
  readonly lifetime?: number;
  readonly official?: AttestedRelease | CurrentAttestedRelease | null;
  readonly localized?: AttestedRelease | CurrentAttestedRelease | null;
  readonly retained?: AttestationStatement['retained'];
  readonly stale?: AttestationStatement['stale_localized'];
}

/** A signed snapshot volume, written without the code under test. */
export interface TestStore {
  readonly root: string;
  readonly storeId: string;
  readonly trustedKeys: readonly TrustedKey[];
  /** Public key, PEM. */
  readonly publicKeyPem: string;
  addRelease(release: StoredRelease): Promise<AttestedRelease>;
  /** Stores a server-info document, for an attestation to name. */
  putDocument(bytes: string | Buffer): Promise<ServerInfoDocument>;
  attest(attestation: Attestation): Buffer;
  /** The path of the object with these bytes. */
  pathOf(bytes: string | Buffer): string;
}

/** Makes an empty store at `root` with its own signing key. */
export async function makeStore(
  root: string,
  storeId = '0f8e1b7a-3c52-4c57-9d1e-6a2f4b8c9d01',
): Promise<TestStore> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const signingKeys: SigningKey[] = [{ keyId: keyIdOf(publicKey), privateKey }];
  const manifestSha256 = new Map<SnapshotId, string>();
  await put(formatPath(root), renderStoreFormat(storeId));

  const putObject = async (bytes: Buffer): Promise<{ blake3: Blake3Hex; blocks?: Blake3Hex }> => {
    const blake3 = blake3Hex(bytes);
    await put(objectPath(root, blake3), bytes);
    if (!hasBlockList(bytes.length)) return { blake3 };
    const list = blockListOf(bytes);
    await put(blockListPath(root, blake3), list);
    return { blake3, blocks: blake3Hex(list) };
  };

  const putDocument = async (bytes: string | Buffer): Promise<ServerInfoDocument> => {
    const { blake3 } = await putObject(Buffer.from(bytes));
    return { blake3, size: Buffer.byteLength(bytes) };
  };

  return {
    root,
    storeId,
    putDocument,
    trustedKeys: [{ keyId: keyIdOf(publicKey), publicKey }],
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }),
    pathOf: (bytes) => objectPath(root, blake3Hex(Buffer.from(bytes))),
    addRelease: async ({ releaseId, channel = 'official', baseReleaseId, files, document, appVersion }) => {
      const entries: ManifestEntry[] = [];
      for (const name of Object.keys(files).sort(compareDestinations)) {
        const bytes = Buffer.from(files[name] ?? '');
        const { blake3, blocks } = await putObject(bytes);
        entries.push({
          destination: destination(name),
          size: bytes.length,
          blake3,
          crc64: await crc64Decimal(bytes),
          source: channel,
          media_type: mediaTypeOf(name),
          ...(blocks === undefined ? {} : { blocks }),
        });
      }
      const total = entries.reduce((sum, { size }) => sum + size, 0);
      const header = renderManifestHeader({
        format: 'slipway-manifest',
        version: 1,
        channel,
        release_id: release(releaseId),
        ...(baseReleaseId === undefined ? {} : { base_release_id: release(baseReleaseId) }),
        entry_count: entries.length,
        total_bytes: total,
        ...(appVersion === undefined ? {} : { app_version: appVersion }),
      });
      const manifest = Buffer.from([header, ...entries.map(renderManifestEntry), ''].join('\n'));
      const snapshotId = snapshotIdOf(blake3Hex(manifest));
      await put(manifestPath(root, blake3Hex(manifest)), manifest);
      manifestSha256.set(snapshotId, createHash('sha256').update(manifest).digest('hex'));
      return {
        release_id: release(releaseId),
        snapshot_id: snapshotId,
        entry_count: entries.length,
        total_bytes: total,
        created_at: 1_760_000_000,
        verified_at: 1_760_000_100,
        verification: 'full',
        result: 'PASSED',
        ...(baseReleaseId === undefined ? {} : { base_release_id: release(baseReleaseId) }),
        server_info: document === undefined ? null : await putDocument(document),
      };
    },
    attest: ({
      version,
      issuedAt,
      lifetime = 600,
      official = null,
      localized = null,
      retained = [],
      stale = null,
    }) =>
      signStatement(
        {
          version,
          issued_at: issuedAt,
          expires_at: issuedAt + lifetime,
          store_id: storeId,
          verifier: { id: 'https://slipway.dev/daemon', version: '0.1.0', boot_id: 'boot' },
          official: current(official),
          localized: current(localized),
          stale_localized: stale,
          retained,
          previous_payload_sha256: null,
        },
        signingKeys,
        manifestSha256,
      ),
  };
}

/** It became current when it was registered, unless the test says otherwise. */
function current(attested: AttestedRelease | CurrentAttestedRelease | null): CurrentAttestedRelease | null {
  return attested === null ? null : { current_since: attested.created_at, ...attested };
}

async function put(path: string, bytes: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
}

function destination(text: string): Destination {
  const parsed = parseDestination(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

function release(text: string): ReleaseId {
  const parsed = parseReleaseId(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}
