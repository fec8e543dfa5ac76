import type { CorpusFile } from './corpus.ts';

const MEBIBYTE = 1024 * 1024;
/** Bytes of one range. */
const RANGE_BYTES = 64 * 1024;
/** Offset of a range in its block. */
const RANGE_OFFSET = 128 * 1024;

/**
 * The servers that cases are judged by: nginx for small files and headers; `node:http` from memory for what our cache holds;
 * `pread`, which reads, hashes and sends each block, for what comes from the volume.
 */
export type ComparedPeer = 'nginx' | 'node:http' | 'pread';

/** One kind of request that is compared with a peer. */
export interface ByteCase {
  readonly name: string;
  readonly file: CorpusFile;
  /**
   * `head`: a HEAD; `unchanged`: a GET with If-None-Match; `hot`: always the same range; `cold`: another block each
   * time.
   */
  readonly kind: 'get' | 'head' | 'unchanged' | 'hot' | 'cold';
  readonly client: 'wrk' | 'sockets';
  readonly connections: number;
  /** Whether server and client have one processor each, or both have all. */
  readonly where: 'one' | 'all';
  /** The figure to compare: requests per second or bytes per second. */
  readonly figure: 'requests' | 'bytes';
  /** Whether the server keeps blocks in memory. */
  readonly cache: 'default' | 'none';
  /** What it is compared with: each is the fastest way to do the same work. */
  readonly peer: ComparedPeer;
  /** Smallest allowed ratio to the peer. */
  readonly target: number;
  /** Most seconds of processor time per 10^9 bytes. */
  readonly mostCpuSecondsPerGigabyte?: number;
  /** Whether the other servers are measured too; nginx is, always. */
  readonly withOthers: boolean;
}

const SMALL = {
  kind: 'get',
  client: 'wrk',
  connections: 32,
  where: 'one',
  figure: 'requests',
  cache: 'default',
  peer: 'nginx',
} as const;
const FROM_MEMORY = { client: 'sockets', peer: 'node:http', target: 0.95 } as const;
const FROM_VOLUME = { client: 'sockets', peer: 'pread', cache: 'none', target: 0.9 } as const;
const LARGE = { ...SMALL, connections: 4, where: 'all', figure: 'bytes' } as const;

/**
 * All cases. wrk reads 8 KB at a time and waits for the body that a HEAD announces, so the other cases use the sockets
 * client.
 */
export const BYTE_CASES: readonly ByteCase[] = [
  { ...SMALL, name: '1 KB GET', file: '1k.bin', target: 1.15, withOthers: true },
  { ...SMALL, name: '16 KB GET', file: '16k.bin', target: 1.05, withOthers: true },
  { ...SMALL, ...FROM_MEMORY, name: '256 KB GET', file: '256k.bin', withOthers: true },
  { ...LARGE, ...FROM_MEMORY, name: '4 MB from the cache', file: '4m.bin', withOthers: false },
  { ...LARGE, ...FROM_MEMORY, name: '100 MB from the cache', file: '100m.bin', withOthers: true },
  {
    ...LARGE,
    ...FROM_VOLUME,
    name: '100 MB uncached',
    file: '100m.bin',
    mostCpuSecondsPerGigabyte: 1.3,
    withOthers: false,
  },
  {
    ...SMALL,
    ...FROM_MEMORY,
    name: '64 KB range of 100 MB, hot block',
    file: '100m.bin',
    kind: 'hot',
    withOthers: true,
  },
  {
    ...SMALL,
    ...FROM_VOLUME,
    name: '64 KB range of 100 MB, cold block',
    file: '100m.bin',
    kind: 'cold',
    withOthers: false,
  },
  { ...SMALL, name: 'HEAD', file: '1k.bin', kind: 'head', client: 'sockets', target: 0.95, withOthers: true },
  { ...SMALL, name: '304', file: '1k.bin', kind: 'unchanged', target: 0.9, withOthers: true },
];

/** One request of a case and its expected answer. */
export interface CaseRequest {
  readonly method: 'GET' | 'HEAD';
  readonly fields: Readonly<Record<string, string>>;
  readonly status: 200 | 206 | 304;
  /** The expected body. */
  readonly body: Buffer;
  /** The requested bytes of the file, when it is a range. */
  readonly range: { readonly start: number; readonly end: number } | null;
}

/**
 * The requests of a case, in order.
 *
 * @param bytes of its file
 * @param etag that the peer gave to the file
 */
export function caseRequests({ kind }: ByteCase, bytes: Buffer, etag: string): readonly CaseRequest[] {
  const nothing = Buffer.alloc(0);
  const plain = { method: 'GET', fields: {}, status: 200, body: bytes, range: null } as const;
  if (kind === 'get') return [plain];
  if (kind === 'head') return [{ ...plain, method: 'HEAD', body: nothing }];
  if (kind === 'unchanged')
    return [{ ...plain, fields: { 'If-None-Match': etag }, status: 304, body: nothing }];
  const blocks = kind === 'hot' ? [1] : Array.from({ length: bytes.length / MEBIBYTE }, (_, block) => block);
  return blocks.map((block) => {
    const start = block * MEBIBYTE + RANGE_OFFSET;
    const end = start + RANGE_BYTES;
    return {
      method: 'GET',
      fields: { Range: `bytes=${start}-${end - 1}` },
      status: 206,
      body: bytes.subarray(start, end),
      range: { start, end },
    };
  });
}
