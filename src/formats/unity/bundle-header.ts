import type { ByteSource } from '../byte-source.ts';
import { FormatError } from '../format-error.ts';
import { MetadataCursor } from './metadata-cursor.ts';

export interface BundleHeader {
  readonly version: number;
  readonly playerVersion: string;
  /** The version of Unity that wrote the bundle, such as `2022.3.10f1`. */
  readonly engineVersion: string;
  readonly fileSize: number;
  /** Position of `fileSize`. The sizes of the directory and the flags follow. A writer changes these four. */
  readonly sizeOffset: number;
  readonly infoCompressedBytes: number;
  readonly infoBytes: number;
  readonly flags: number;
  readonly infoAtEnd: boolean;
  readonly paddedStart: boolean;
  /** Bytes of these fields, with the padding behind them. */
  readonly headerBytes: number;
}

const MOST_HEADER_BYTES = 512;
const OTHER_SIGNATURES: ReadonlySet<string> = new Set(['UnityWeb', 'UnityRaw', 'UnityArchive']);
const VERSIONS = { first: 6, last: 8 };
const ALIGNED_FROM = 7;
const ALIGNMENT = 16;

const FLAGS = {
  compression: 0x3f,
  combined: 0x40,
  infoAtEnd: 0x80,
  webCompatibility: 0x100,
  /** Encryption before the versions below, a padding from them on. */
  paddedStart: 0x200,
};
const KNOWN_FLAGS = Object.values(FLAGS).reduce((all, flag) => all | flag, 0);

/** The first versions of Unity in which the flag 0x200 means a padding. */
const PADDING_SINCE: readonly (readonly [number, number, number])[] = [
  [2020, 3, 34],
  [2021, 3, 2],
  [2022, 1, 1],
];
/** Some games have a bundle of version 6 with alignment since this version of Unity. */
const EARLY_ALIGNMENT = [2019, 4, 15] as const;

/** Whether bytes begin as a bundle of any kind, supported or not. */
export function isUnityBundle(head: Buffer): boolean {
  const end = head.indexOf(0);
  const signature = end < 0 ? '' : head.toString('latin1', 0, end);
  return signature === 'UnityFS' || OTHER_SIGNATURES.has(signature);
}

/**
 * Reads the header of a bundle.
 *
 * @throws FormatError `bundle_signature_unsupported`, `bundle_encrypted` or `bundle_invalid`
 */
export function readBundleHeader(source: ByteSource): BundleHeader {
  const head = source.read(0, Math.min(MOST_HEADER_BYTES, source.size));
  if (!isUnityBundle(head))
    throw new FormatError('bundle_signature_unsupported', 'the file is not a bundle', 0);
  const cursor = new MetadataCursor(head, 'bundle_invalid');
  const signature = cursor.terminatedString();
  if (signature !== 'UnityFS') {
    throw new FormatError('bundle_signature_unsupported', `${signature} is not supported`, 0);
  }
  const version = cursor.uint32();
  if (version < VERSIONS.first || version > VERSIONS.last) {
    throw new FormatError('bundle_signature_unsupported', `UnityFS ${version} is not supported`, 8);
  }
  const playerVersion = cursor.terminatedString();
  const engineVersion = cursor.terminatedString();
  const sizeAt = cursor.position;
  const fileSize = cursor.size64();
  const infoCompressedBytes = cursor.uint32();
  const infoBytes = cursor.uint32();
  const flagsAt = cursor.position;
  const flags = cursor.uint32();
  const engine = parseEngineVersion(engineVersion);
  if ((flags & ~KNOWN_FLAGS) !== 0 || ((flags & FLAGS.paddedStart) !== 0 && !knowsPadding(engine))) {
    throw new FormatError('bundle_encrypted', `the flags ${flags} mean encryption`, flagsAt);
  }
  if (fileSize > source.size) {
    throw cursor.fail(`the bundle has ${source.size} bytes instead of ${fileSize}`, sizeAt);
  }
  if (version >= ALIGNED_FROM || isAlignedEarly(engine)) cursor.align(ALIGNMENT);
  return {
    version,
    playerVersion,
    engineVersion,
    fileSize,
    sizeOffset: sizeAt,
    infoCompressedBytes,
    infoBytes,
    flags,
    infoAtEnd: (flags & FLAGS.infoAtEnd) !== 0,
    paddedStart: (flags & FLAGS.paddedStart) !== 0,
    headerBytes: cursor.position,
  };
}

type EngineVersion = readonly [number, number, number] | null;

function parseEngineVersion(text: string): EngineVersion {
  const match = /^(\d+)\.(\d+)\.(\d+)/.exec(text);
  const year = Number(match?.[1] ?? 0);
  // A release can hide its version as 0.0.0.
  return year === 0 ? null : [year, Number(match?.[2]), Number(match?.[3])];
}

function knowsPadding(engine: EngineVersion): boolean {
  if (engine === null) return true;
  const [year, minor, patch] = engine;
  const since = PADDING_SINCE.find(([each]) => each === year);
  if (since === undefined) return year > (PADDING_SINCE.at(-1)?.[0] ?? 0);
  return minor > since[1] || (minor === since[1] && patch >= since[2]);
}

function isAlignedEarly(engine: EngineVersion): boolean {
  const [year, minor, patch] = EARLY_ALIGNMENT;
  if (engine?.[0] !== year) return false;
  return engine[1] > minor || (engine[1] === minor && engine[2] >= patch);
}
