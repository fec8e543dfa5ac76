import { isRecord } from '../../domain/is-record.ts';
import { hasBlockList, SINGLE_BLOCK_MAX_BYTES } from '../../domain/release/blocks.ts';
import { isChannel } from '../../domain/release/channel.ts';
import { parseDestination } from '../../domain/release/destination.ts';
import { isBlake3Hex, isCrc64Decimal } from '../../domain/release/digest.ts';
import {
  MANIFEST_MAX_ENTRIES,
  type ManifestEntry,
  type ManifestHeader,
} from '../../domain/release/manifest.ts';
import { parseReleaseId } from '../../domain/release/release-id.ts';
import { failure, success, type Result } from '../../domain/result.ts';

/**
 * Manifest file, version 1: NDJSON in UTF-8. Line 1 is the header, every further line one entry, in the byte order of
 * the destinations; every line ends in a line feed. Lines are canonical: keys in the order of {@link ManifestHeader} and
 * {@link ManifestEntry}, no white space, escapes as `JSON.stringify` writes them. So the same content is always the same
 * bytes and the same snapshot id.
 */
const MANIFEST_FORMAT = 'slipway-manifest';

/** Longest manifest file, in bytes. */
export const MANIFEST_MAX_BYTES = 2 * 1024 * 1024 * 1024;

/** Maximum number of different media types in one manifest. */
export const MANIFEST_MAX_MEDIA_TYPES = 4096;

const APP_VERSION_MAX_LENGTH = 256;

// RFC 9110, section 8.3.1: type/subtype and parameters. Only what may stand in a Content-Type field line.
const MEDIA_TYPE =
  /^[\w!#$%&'*+.^`|~-]{1,127}\/[\w!#$%&'*+.^`|~-]{1,127}(?:; ?[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ !#-[\]-~]*"))*$/;
const MEDIA_TYPE_MAX_LENGTH = 255;

/** Whether text is a media type that an entry may have. */
export function isMediaType(text: string): boolean {
  return text.length <= MEDIA_TYPE_MAX_LENGTH && MEDIA_TYPE.test(text);
}

/** Line 1 of a manifest file, without its line feed. */
export function renderManifestHeader(header: ManifestHeader): string {
  return JSON.stringify({
    format: header.format,
    version: header.version,
    channel: header.channel,
    release_id: header.release_id,
    base_release_id: header.base_release_id,
    entry_count: header.entry_count,
    total_bytes: header.total_bytes,
    app_version: header.app_version,
  });
}

/** One entry line of a manifest file, without its line feed. */
export function renderManifestEntry(entry: ManifestEntry): string {
  return JSON.stringify({
    destination: entry.destination,
    size: entry.size,
    blake3: entry.blake3,
    crc64: entry.crc64,
    source: entry.source,
    media_type: entry.media_type,
    blocks: entry.blocks,
  });
}

/** Parses line 1 of a manifest. @returns the header, or one sentence that says what is wrong */
export function parseManifestHeader(line: string): Result<ManifestHeader, string> {
  const fields = parseObject(line);
  if (fields === null) return failure('the header is not a JSON object');
  const problem = headerProblem(fields);
  if (problem !== null) return failure(`header: ${problem}`);
  const header = fields as unknown as ManifestHeader;
  if (renderManifestHeader(header) !== line) {
    return failure('header: not canonical (unknown or repeated keys, key order, white space or escapes)');
  }
  return success(header);
}

/**
 * Parses one entry line of a manifest. The caller checks its relation to other lines (order, sums).
 *
 * @returns the entry, or one sentence that says what is wrong
 */
export function parseManifestEntry(line: string): Result<ManifestEntry, string> {
  const fields = parseObject(line);
  if (fields === null) return failure('the entry is not a JSON object');
  const problem = entryProblem(fields);
  if (problem !== null) return failure(problem);
  const entry = fields as unknown as ManifestEntry;
  if (renderManifestEntry(entry) !== line) {
    return failure(
      'the entry is not canonical (unknown or repeated keys, key order, white space or escapes)',
    );
  }
  return success(entry);
}

/** What is wrong with the fields of an entry, or `null`. */
export function entryProblem(fields: Readonly<Record<string, unknown>>): string | null {
  const { destination, size, blake3, crc64, source, media_type, blocks } = fields;
  if (typeof destination !== 'string') return 'destination is not a string';
  const parsed = parseDestination(destination);
  if (!parsed.ok) return parsed.error;
  if (!isCount(size)) return 'size is not an integer from 0 to 2^53 - 1';
  if (typeof blake3 !== 'string' || !isBlake3Hex(blake3))
    return 'blake3 is not 64 lower-case hexadecimal digits';
  if (typeof crc64 !== 'string' || !isCrc64Decimal(crc64))
    return 'crc64 is not an unsigned 64-bit decimal string';
  if (typeof source !== 'string' || !isChannel(source)) return 'source is neither official nor localized';
  if (typeof media_type !== 'string' || !isMediaType(media_type)) return 'media_type is not a media type';
  return blocksProblem(size, blocks);
}

/** What is wrong with the fields of a header, or `null`. */
export function headerProblem(fields: Readonly<Record<string, unknown>>): string | null {
  if (fields['format'] !== MANIFEST_FORMAT) return `format is not "${MANIFEST_FORMAT}"`;
  if (fields['version'] !== 1) return 'version is not 1, the only supported version';
  const channel = fields['channel'];
  if (typeof channel !== 'string' || !isChannel(channel)) return 'channel is neither official nor localized';
  if (!isReleaseId(fields['release_id'])) return 'release_id is not a release id';
  const base = fields['base_release_id'];
  if (base !== undefined && channel === 'official') return 'an official release has no base_release_id';
  if (base !== undefined && !isReleaseId(base)) return 'base_release_id is not a release id';
  const entries = fields['entry_count'];
  if (!isCount(entries) || entries > MANIFEST_MAX_ENTRIES) {
    return `entry_count is not an integer from 0 to ${MANIFEST_MAX_ENTRIES}`;
  }
  if (!isCount(fields['total_bytes'])) return 'total_bytes is not an integer from 0 to 2^53 - 1';
  return appVersionProblem(fields['app_version']);
}

function blocksProblem(size: number, blocks: unknown): string | null {
  if (!hasBlockList(size)) {
    return blocks === undefined
      ? null
      : `blocks is only allowed for entries of more than ${SINGLE_BLOCK_MAX_BYTES} bytes`;
  }
  if (blocks === undefined)
    return `blocks is missing, but the entry has more than ${SINGLE_BLOCK_MAX_BYTES} bytes`;
  return typeof blocks === 'string' && isBlake3Hex(blocks)
    ? null
    : 'blocks is not 64 lower-case hexadecimal digits';
}

function appVersionProblem(value: unknown): string | null {
  if (value === undefined) return null;
  const ok =
    typeof value === 'string' &&
    value !== '' &&
    value.length <= APP_VERSION_MAX_LENGTH &&
    value.isWellFormed();
  return ok ? null : `app_version is not a string of 1 to ${APP_VERSION_MAX_LENGTH} characters`;
}

function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
}

function isReleaseId(value: unknown): boolean {
  return typeof value === 'string' && parseReleaseId(value).ok;
}
