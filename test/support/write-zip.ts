import { crc32, deflateRawSync } from 'node:zlib';

/** An entry to write. Fields that are left out are true to the content. */
export interface ZipInput {
  readonly name: string | Buffer;
  readonly content?: Buffer;
  readonly method?: number;
  readonly flags?: number;
  /** The data as it is stored; the default is the deflated content. */
  readonly data?: Buffer;
  readonly crc32?: number;
  readonly compressedSize?: number;
  readonly uncompressedSize?: number;
  readonly extra?: Buffer;
  readonly comment?: string;
  readonly localOffset?: number;
  /** Differences of the local header to the directory. */
  readonly local?: Partial<
    Pick<ZipInput, 'compressedSize' | 'crc32' | 'extra' | 'flags' | 'method' | 'name'>
  >;
  /** Bytes behind the data. */
  readonly descriptor?: Buffer;
}

/** The bytes of an archive that may contradict itself, for tests of bad input. */
export function writeZip(
  inputs: readonly ZipInput[],
  end: {
    readonly count?: number;
    readonly size?: number;
    readonly offset?: number;
    readonly comment?: string;
  } = {},
): Buffer {
  const parts: Buffer[] = [];
  const records: Buffer[] = [];
  let offset = 0;
  for (const input of inputs) {
    const data = input.data ?? (input.method === 0 ? contentOf(input) : deflateRawSync(contentOf(input)));
    const entry = [header(input, data, false), data, input.descriptor ?? Buffer.alloc(0)];
    records.push(record(input, data, input.localOffset ?? offset));
    parts.push(...entry);
    offset += Buffer.concat(entry).length;
  }
  const directory = Buffer.concat(records);
  const comment = Buffer.from(end.comment ?? '');
  const last = Buffer.alloc(22);
  last.writeUInt32LE(0x06_05_4b_50, 0);
  last.writeUInt16LE(end.count ?? inputs.length, 8);
  last.writeUInt16LE(end.count ?? inputs.length, 10);
  last.writeUInt32LE(end.size ?? directory.length, 12);
  last.writeUInt32LE(end.offset ?? offset, 16);
  last.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...parts, directory, last, comment]);
}

function contentOf(input: ZipInput): Buffer {
  return input.content ?? Buffer.alloc(0);
}

/** The local header, or the part of the directory record that has the same layout. */
function header(input: ZipInput, data: Buffer, inDirectory: boolean): Buffer {
  const fields: ZipInput = inDirectory ? input : { ...input, ...input.local };
  const name = Buffer.from(fields.name);
  const extra = fields.extra ?? Buffer.alloc(0);
  const bytes = Buffer.alloc(30);
  bytes.writeUInt32LE(0x04_03_4b_50, 0);
  bytes.writeUInt16LE(20, 4);
  bytes.writeUInt16LE(fields.flags ?? 0x08_00, 6);
  bytes.writeUInt16LE(fields.method ?? 8, 8);
  bytes.writeUInt16LE(0x5a_21, 12);
  bytes.writeUInt32LE(fields.crc32 ?? crc32(contentOf(input)), 14);
  bytes.writeUInt32LE(fields.compressedSize ?? data.length, 18);
  bytes.writeUInt32LE(fields.uncompressedSize ?? contentOf(input).length, 22);
  bytes.writeUInt16LE(name.length, 26);
  bytes.writeUInt16LE(extra.length, 28);
  return inDirectory ? bytes : Buffer.concat([bytes, name, extra]);
}

function record(input: ZipInput, data: Buffer, localOffset: number): Buffer {
  const [name, extra, comment] = [
    Buffer.from(input.name),
    input.extra ?? Buffer.alloc(0),
    Buffer.from(input.comment ?? ''),
  ];
  const start = Buffer.alloc(6);
  start.writeUInt32LE(0x02_01_4b_50, 0);
  start.writeUInt16LE(0x03_14, 4);
  const rest = Buffer.alloc(14);
  rest.writeUInt16LE(comment.length, 0);
  rest.writeUInt32LE(localOffset, 10);
  return Buffer.concat([start, header(input, data, true).subarray(4), rest, name, extra, comment]);
}
