import { z } from 'zod';
import {
  FAILURE_EXAMPLES,
  FAILURE_REASONS,
  type AttestationStatement,
  type AttestedRelease,
} from '../../domain/verdict/attestation.ts';
import { isAnnounced } from '../../domain/verdict/announced.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import { namedReleases } from '../../domain/verdict/effective-attestation.ts';
import { manifestDigestOf, type SnapshotId } from '../../domain/release/digest.ts';
import { SERVER_INFO_MAX_BYTES } from '../../domain/release/server-info-document.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { JsonError } from '../json/json-error.ts';
import { parseJsonExact } from '../json/json-exact.ts';
import { blake3, releaseId, snapshotId } from './release-fields.ts';

/** `payloadType` of the envelope. */
export const ATTESTATION_PAYLOAD_TYPE = 'application/vnd.in-toto+json';

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';

const PREDICATE_TYPE = 'https://slipway.dev/attestation/distribution/v1';

/** Longest envelope, in bytes. The largest statement fits, whatever the names of its releases and files. */
export const ENVELOPE_MAX_BYTES = 128 * 1024;

/** Maximum number of signatures of one envelope; each trusted key may be tried on each. */
export const ENVELOPE_MAX_SIGNATURES = 8;

/** Maximum number of releases in `retained`, so that a statement always fits its envelope. */
export const RETAINED_MAX_RELEASES = 32;

/** The last second that ISO 8601 writes with four digits of year. */
const LAST_SECOND = 253_402_300_799;
const MAX_DEPTH = 16;
const HEX_256 = /^[0-9a-f]{64}$/;

const unixSeconds = z.int().min(0).max(LAST_SECOND);
const count = z.int().min(0);
const hex256 = z.string().regex(HEX_256, 'must be 64 lower-case hexadecimal digits');
const label = z.string().min(1).max(256);

const attestedRelease = z.object({
  release_id: releaseId,
  snapshot_id: snapshotId,
  entry_count: count,
  total_bytes: count,
  excluded_count: count
    .optional()
    .describe('Files that upstream lists and the mirror leaves out on purpose; absent when there are none.'),
  created_at: unixSeconds,
  verified_at: unixSeconds,
  verification: z.literal('full'),
  result: z.enum(['PASSED', 'FAILED']),
  failure: z
    .object({
      reason: z.enum(FAILURE_REASONS),
      entry_count: count,
      missing_count: count.optional().describe('Missing ones among entries of which others are damaged.'),
      examples: z.array(z.string().min(1).max(1024)).max(FAILURE_EXAMPLES),
    })
    .optional(),
  server_info: z.object({ blake3, size: count.max(SERVER_INFO_MAX_BYTES) }).nullable(),
});

const localizedRelease = attestedRelease.extend({ base_release_id: releaseId });

const currentSince = unixSeconds.describe(
  'When the release became current; Unix seconds. Later than that of every release that was current in the channel before.',
);

const staleRelease = z.object({ release_id: releaseId, base_release_id: releaseId });

const retained = { retained_until: unixSeconds, result: z.literal('PASSED') };

const currentAt = unixSeconds
  .optional()
  .describe('Only for an announced release: when it becomes the current one; Unix seconds.');

const retainedRelease = z.discriminatedUnion('channel', [
  attestedRelease.extend({ channel: z.literal('official'), ...retained, current_at: currentAt }),
  localizedRelease.extend({ channel: z.literal('localized'), ...retained, current_at: currentAt }),
]);

/** The statement of the daemon, in its own terms. */
export const PredicateSchema = z.object({
  version: z.int().min(1),
  issued_at: unixSeconds,
  expires_at: unixSeconds,
  store_id: label,
  verifier: z.object({ id: label, version: label, boot_id: label }),
  official: attestedRelease.extend({ current_since: currentSince }).nullable(),
  localized: localizedRelease.extend({ current_since: currentSince }).nullable(),
  stale_localized: staleRelease
    .nullable()
    .describe(
      'The current localized release when its base is not the current official one, so that it is left out; otherwise null.',
    ),
  retained: z.array(retainedRelease).max(RETAINED_MAX_RELEASES),
  previous_payload_sha256: hex256.nullable(),
});

/** The payload of an envelope. Fields it does not know are ignored, as in-toto asks of every consumer. */
export const StatementSchema = z.object({
  _type: z.literal(STATEMENT_TYPE),
  subject: z
    .array(
      z.object({
        name: z.string().min(1).max(256),
        digest: z.object({ blake3: hex256, sha256: hex256 }),
      }),
    )
    .max(RETAINED_MAX_RELEASES + CHANNELS.length),
  predicateType: z.literal(PREDICATE_TYPE),
  predicate: PredicateSchema,
});

/** A DSSE envelope. Fields it does not know are ignored, as DSSE asks of every consumer. */
export const EnvelopeSchema = z.object({
  payloadType: z.string().max(256),
  payload: z.string(),
  signatures: z
    .array(z.object({ keyid: z.string().max(256).optional(), sig: z.string().max(256) }))
    .max(ENVELOPE_MAX_SIGNATURES),
});

export type Envelope = z.output<typeof EnvelopeSchema>;

type ParsedStatement = z.output<typeof StatementSchema>;

/** A release that the statement authorizes, under the name of its subject. */
interface NamedRelease {
  readonly name: string;
  readonly release: AttestedRelease;
}

/**
 * Parses a payload whose signature was verified: types, bounds, no duplicate keys, numbers within ±(2^53 - 1), and
 * subjects that are exactly the authorized releases of the predicate.
 *
 * @returns the statement, or one sentence that names the field and what is wrong
 *
 * Source: in-toto attestation framework v1, Statement layer.
 */
export function parseStatement(bytes: Uint8Array): Result<AttestationStatement, string> {
  const parsed = parseJson(bytes, StatementSchema);
  if (!parsed.ok) return failure(`the payload is malformed: ${parsed.error}`);
  const statement: AttestationStatement = parsed.value.predicate;
  const problem = inconsistency(statement) ?? subjectProblem(statement, parsed.value.subject);
  return problem === null ? success(statement) : failure(problem);
}

/**
 * Renders a statement as the payload to sign. The same statement always gives the same bytes.
 *
 * @param manifestSha256 SHA-256 (64 hexadecimal digits) of the manifest file of every authorized release, by its
 *   snapshot id; in-toto's named digests have no BLAKE3, so both stand in the subject
 * @throws Error when a digest is missing or the statement breaks a rule that {@link parseStatement} checks
 */
export function renderStatement(
  statement: AttestationStatement,
  manifestSha256: ReadonlyMap<SnapshotId, string>,
): Buffer {
  const subject = authorizedReleases(statement).map(({ name, release }) => {
    const sha256 = manifestSha256.get(release.snapshot_id);
    if (sha256 === undefined) {
      throw new Error(`no SHA-256 was given for the manifest of ${name} (${release.snapshot_id})`);
    }
    return { name, digest: { blake3: manifestDigestOf(release.snapshot_id), sha256 } };
  });
  const predicate = {
    version: statement.version,
    issued_at: statement.issued_at,
    expires_at: statement.expires_at,
    store_id: statement.store_id,
    verifier: statement.verifier,
    official: statement.official,
    localized: statement.localized,
    stale_localized: statement.stale_localized,
    retained: statement.retained,
    previous_payload_sha256: statement.previous_payload_sha256,
  };
  const bytes = Buffer.from(
    JSON.stringify({ _type: STATEMENT_TYPE, subject, predicateType: PREDICATE_TYPE, predicate }),
  );
  const readBack = parseStatement(bytes);
  if (!readBack.ok) throw new Error(`the statement would be rejected: ${readBack.error}`);
  return bytes;
}

/**
 * Parses the outer envelope. Nothing in it is trustworthy yet.
 *
 * @returns the envelope, or one sentence that says what is wrong
 *
 * Source: DSSE v1.0.2, envelope.md.
 */
export function parseEnvelope(bytes: Uint8Array): Result<Envelope, string> {
  if (bytes.length > ENVELOPE_MAX_BYTES) {
    return failure(`the envelope has ${bytes.length} bytes, more than the ${ENVELOPE_MAX_BYTES} allowed`);
  }
  const parsed = parseJson(bytes, EnvelopeSchema);
  return parsed.ok ? parsed : failure(`the envelope is malformed: ${parsed.error}`);
}

function parseJson<T>(bytes: Uint8Array, schema: z.ZodType<T>): Result<T, string> {
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    value = parseJsonExact(text, { strict: true, maxDepth: MAX_DEPTH, maxBytes: ENVELOPE_MAX_BYTES });
  } catch (error) {
    if (error instanceof JsonError) return failure(error.message);
    if (error instanceof TypeError) return failure('the text is not UTF-8');
    throw error;
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return success(parsed.data);
  const [issue] = parsed.error.issues;
  return failure(issue === undefined ? 'invalid' : `${issue.path.join('.')}: ${issue.message}`);
}

function inconsistency(statement: AttestationStatement): string | null {
  if (statement.expires_at <= statement.issued_at) {
    return 'predicate.expires_at must be later than predicate.issued_at';
  }
  if (statement.localized !== null && statement.stale_localized !== null) {
    return 'predicate.stale_localized must be null when predicate.localized is a release';
  }
  const names = allReleases(statement).map(({ name }) => name);
  for (const channel of CHANNELS) {
    const announced = statement.retained.filter((each) => each.channel === channel && isAnnounced(each));
    if (announced.length > 1) return `more than one ${channel} release is announced`;
  }
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? null : `the release ${twice} appears twice in the predicate`;
}

/** Whether the subjects are the authorized releases, each once with the digest of its snapshot id. */
function subjectProblem(
  statement: AttestationStatement,
  subjects: ParsedStatement['subject'],
): string | null {
  const expected = new Map(authorizedReleases(statement).map(({ name, release }) => [name, release]));
  for (const { name, digest } of subjects) {
    const release = expected.get(name);
    if (release === undefined)
      return `the subject ${JSON.stringify(name)} is not an authorized release, or is repeated`;
    if (manifestDigestOf(release.snapshot_id) !== digest.blake3) {
      return `the subject ${name} has another digest than the predicate's snapshot_id`;
    }
    expected.delete(name);
  }
  const [missing] = expected.keys();
  return missing === undefined ? null : `the authorized release ${missing} is not among the subjects`;
}

function authorizedReleases(statement: AttestationStatement): NamedRelease[] {
  return allReleases(statement).filter(({ release }) => release.result === 'PASSED');
}

function allReleases(statement: AttestationStatement): NamedRelease[] {
  return namedReleases(statement).map(({ channel, release }) => ({
    name: `${channel}/${release.release_id}`,
    release,
  }));
}
