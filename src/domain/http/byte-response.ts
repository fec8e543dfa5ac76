import { parseRange, type ByteRange } from './byte-ranges.ts';
import { renderHttpDate } from './http-date.ts';
import {
  evaluatePreconditions,
  ifRangeHolds,
  type ConditionalHeaders,
  type Validators,
} from './preconditions.ts';

export interface ByteRequestHeaders extends ConditionalHeaders {
  readonly range?: string | undefined;
}

interface ByteRequest {
  readonly method: 'GET' | 'HEAD';
  readonly headers: ByteRequestHeaders;
  readonly nowSeconds: number;
  /** Makes a multipart delimiter that occurs nowhere in the bytes; called only when one is needed. */
  readonly boundary: () => string;
}

export interface Representation {
  readonly etag: Validators['etag'];
  /** Unix seconds; no other state of the resource has it. */
  readonly lastModified: number;
  readonly size: number;
  readonly mediaType: string;
  readonly cacheControl: string;
}

export interface BytePart extends ByteRange {
  /** The head of a body part, ASCII with CRLF line ends; empty outside multipart. */
  readonly head: string;
}

/** An answer without its bytes. */
export interface ByteResponsePlan {
  readonly status: 200 | 206 | 304 | 412 | 416;
  /** Names and values in turn. `Date` is left to the server; a 412 and a 416 need a separate body. */
  readonly headers: readonly string[];
  readonly parts: readonly BytePart[];
  readonly tail: string;
}

/**
 * Decides how bytes are answered: status, fields, and which of them are sent.
 *
 * HEAD ignores `Range`; preconditions come before ranges; one range is never multipart; several satisfiable ranges
 * give `multipart/byteranges`. A modification date that lies in the future is sent as the present one and is then no
 * strong validator.
 *
 * Source: RFC 9110, sections 8.8.2.1, 13.2.2, 14 and 15.3.7.
 */
export function planByteResponse(request: ByteRequest, representation: Representation): ByteResponsePlan {
  const { method, headers, nowSeconds } = request;
  const validators: Validators = {
    etag: representation.etag,
    lastModified: Math.min(representation.lastModified, nowSeconds),
    lastModifiedIsStrong: representation.lastModified < nowSeconds,
  };
  const outcome = evaluatePreconditions(method, headers, validators, nowSeconds);
  if (outcome === 'failed') return withoutContent(412, []);
  const identity = [
    'ETag',
    validators.etag,
    'Last-Modified',
    renderHttpDate(validators.lastModified),
    'Cache-Control',
    representation.cacheControl,
  ];
  if (outcome === 'not_modified') return withoutContent(304, identity);

  const { range } = headers;
  if (method === 'GET' && range !== undefined && ifRangeHolds(headers['if-range'], validators, nowSeconds)) {
    const selection = parseRange(range, representation.size);
    if (selection.kind === 'unsatisfiable') {
      return withoutContent(416, ['Content-Range', `bytes */${representation.size}`]);
    }
    if (selection.kind === 'ranges') return partial(selection.ranges, representation, identity, request);
  }
  return {
    status: 200,
    headers: [
      'Content-Type',
      representation.mediaType,
      'Content-Length',
      String(representation.size),
      'Accept-Ranges',
      'bytes',
      ...identity,
    ],
    parts:
      method === 'GET' && representation.size > 0 ? [{ start: 0, end: representation.size, head: '' }] : [],
    tail: '',
  };
}

function withoutContent(status: 304 | 412 | 416, headers: readonly string[]): ByteResponsePlan {
  return { status, headers, parts: [], tail: '' };
}

function partial(
  ranges: readonly ByteRange[],
  { size, mediaType }: Representation,
  identity: readonly string[],
  { boundary }: ByteRequest,
): ByteResponsePlan {
  const [first] = ranges;
  if (first !== undefined && ranges.length === 1) {
    return {
      status: 206,
      headers: [
        'Content-Type',
        mediaType,
        'Content-Length',
        String(first.end - first.start),
        'Content-Range',
        contentRange(first, size),
        'Accept-Ranges',
        'bytes',
        ...identity,
      ],
      parts: [{ ...first, head: '' }],
      tail: '',
    };
  }
  const delimiter = boundary();
  const parts = ranges.map((range) => ({
    ...range,
    // The line end belongs to the delimiter (RFC 2046, section 5.1.1). The first part may go without it, but zsync counts on it,
    // because nginx and Apache send it.
    head: `\r\n--${delimiter}\r\nContent-Type: ${mediaType}\r\nContent-Range: ${contentRange(range, size)}\r\n\r\n`,
  }));
  const tail = `\r\n--${delimiter}--\r\n`;
  const length = parts.reduce((sum, part) => sum + part.head.length + part.end - part.start, tail.length);
  return {
    status: 206,
    headers: [
      'Content-Type',
      `multipart/byteranges; boundary=${delimiter}`,
      'Content-Length',
      String(length),
      'Accept-Ranges',
      'bytes',
      ...identity,
    ],
    parts,
    tail,
  };
}

function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end - 1}/${size}`;
}
