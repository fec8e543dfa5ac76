import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { ReleaseRecord } from '../../contract/formats/release-record.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { ServerInfoDocument } from '../../domain/release/server-info-document.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { manifestPath } from '../../snapshot/volume/layout.ts';
import { loadManifest, type LoadedManifest } from '../../snapshot/manifest/manifest-loader.ts';
import { objectState } from '../../snapshot/objects/object-state.ts';
import type { ObjectLedger } from '../../snapshot/objects/object-ledger.ts';
import { readReleaseRecord } from '../../snapshot/volume/release-records.ts';
import { verifyRelease, type VerificationProgress } from '../../snapshot/release-verifier.ts';
import { checkBase, type BaseCheckOptions } from './check-base.ts';
import type { ReleaseReport } from './volume-report.ts';
import { messageOf } from '../../platform/errors.ts';

export interface ReleaseCheckOptions {
  readonly root: string;
  readonly quick: boolean;
  readonly pool: HashPool;
  readonly concurrency: number;
  /**
   * The entry of the attestation on a release, `undefined` when it does not name it. If the entry says nothing of the
   * server-info document, the document is the one that the manifest names.
   */
  readonly attestedAs: BaseCheckOptions['attestedAs'];
  /** Every object of the release is in it afterwards. */
  readonly ledger: ObjectLedger;
  readonly onProgress: (progress: VerificationProgress, total: number, release: string) => void;
  readonly signal: AbortSignal;
}

const EXAMPLES = 20;

/** Checks the record, the manifest and the objects of one release. Throws only when it cannot continue at all. */
export async function checkRelease(
  options: ReleaseCheckOptions,
  channel: Channel,
  releaseId: ReleaseId,
): Promise<ReleaseReport> {
  const found: ReleaseReport = {
    channel,
    release_id: releaseId,
    snapshot_id: null,
    entries: 0,
    bytes: 0,
    damaged: 0,
    problems: [],
    examples: [],
    base: null,
  };
  let record: ReleaseRecord | null;
  let loaded: LoadedManifest;
  try {
    record = await readReleaseRecord(options.root, channel, releaseId);
    if (record === null) return { ...found, problems: ['there is no record of this release'] };
    const { snapshot_id: snapshotId } = record;
    loaded = await loadManifest({ ...options, snapshotId, checkObjects: options.quick });
  } catch (error) {
    options.signal.throwIfAborted();
    return { ...found, problems: [messageOf(error)] };
  }
  const { header } = loaded.index;
  const compared = channel === 'localized' ? await checkBase(loaded.index, options) : null;
  const problems = [...(await recordProblems(options.root, record, loaded)), ...(compared?.problems ?? [])];
  const whole = {
    ...found,
    base: compared?.base ?? null,
    snapshot_id: record.snapshot_id,
    entries: header.entry_count,
    bytes: header.total_bytes,
    problems,
  };
  const document = options.attestedAs(channel, releaseId)?.server_info ?? null;
  return options.quick
    ? await quickReport(whole, options, loaded, document)
    : await fullReport(whole, options, loaded, document);
}

async function fullReport(
  report: ReleaseReport,
  options: ReleaseCheckOptions,
  { index }: LoadedManifest,
  document: ServerInfoDocument | null,
): Promise<ReleaseReport> {
  const findings = await verifyRelease({
    ...options,
    index,
    serverInfo: document,
    compareBlocks: true,
    onProgress: (progress) => {
      options.onProgress(progress, index.header.total_bytes, `${report.channel} ${report.release_id}`);
    },
  });
  const { serverInfo } = findings;
  return {
    ...report,
    damaged: findings.damagedCount,
    problems:
      serverInfo === null || serverInfo === 'ok'
        ? report.problems
        : [...report.problems, `its server-info document: ${serverInfo}`],
    examples: findings.examples
      .slice(0, EXAMPLES)
      .map(({ destination, status }) => ({ destination, status })),
  };
}

async function quickReport(
  report: ReleaseReport,
  { root, ledger }: ReleaseCheckOptions,
  { index, missing }: LoadedManifest,
  document: ServerInfoDocument | null,
): Promise<ReleaseReport> {
  for (let position = 0; position < index.length; position += 1) {
    const blake3 = index.blake3(position);
    if (ledger.find(blake3) < 0) ledger.add(blake3, index.size(position));
  }
  if (document !== null && ledger.find(document.blake3) < 0) ledger.add(document.blake3, document.size);
  return {
    ...report,
    damaged: missing.indexes.length,
    problems:
      document === null || (await objectState(root, document.blake3, document.size)) === 'ok'
        ? report.problems
        : [...report.problems, 'its server-info document is missing'],
    examples: Array.from(missing.indexes.subarray(0, EXAMPLES), (position) => ({
      destination: index.destination(position),
      status: 'missing',
    })),
  };
}

async function recordProblems(
  root: string,
  record: ReleaseRecord,
  { index }: LoadedManifest,
): Promise<readonly string[]> {
  const { header } = index;
  const problems: string[] = [];
  const compare = (name: string, inRecord: unknown, inManifest: unknown): void => {
    if (inRecord === inManifest) return;
    problems.push(`${name} is ${String(inRecord)} in the record and ${String(inManifest)} in the manifest`);
  };
  compare('channel', record.channel, header.channel);
  compare('release_id', record.release_id, header.release_id);
  compare('base_release_id', record.base_release_id, header.base_release_id);
  compare('app_version', record.app_version, header.app_version);
  compare('entry_count', record.manifest.entry_count, header.entry_count);
  compare('total_bytes', record.manifest.total_bytes, header.total_bytes);
  const sha256 = createHash('sha256');
  await pipeline(createReadStream(manifestPath(root, record.manifest.blake3)), sha256);
  compare('the SHA-256 of the manifest', record.manifest.sha256, sha256.digest('hex'));
  return problems;
}
