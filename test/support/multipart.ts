/** One part of a `multipart/byteranges` body. */
export interface MultipartPart {
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Offset of the part in the whole. */
  readonly start: number;
}

/**
 * Parses a multipart body strictly: CRLF and the delimiter begin the body and each part, nothing follows the last delimiter. Lengths come from `Content-Range` alone, so bytes that look like a delimiter are still data.
 *
 * Source: RFC 2046, section 5.1.1; RFC 9110, section 14.6.
 */
export function parseByteRanges(contentType: string, body: Buffer): readonly MultipartPart[] {
  const boundary = /^multipart\/byteranges; boundary=([0-9A-Za-z'()+_,./:=?-]{1,70})$/i.exec(
    contentType,
  )?.[1];
  if (boundary === undefined) throw new Error(`no boundary in ${contentType}`);
  const parts: MultipartPart[] = [];
  let at = 0;
  const expectText = (text: string): void => {
    if (body.toString('latin1', at, at + text.length) !== text) {
      throw new Error(`at ${at}: ${JSON.stringify(text)} was expected`);
    }
    at += text.length;
  };
  expectText(`\r\n--${boundary}`);
  while (body.toString('latin1', at, at + 2) === '\r\n') {
    at += 2;
    const end = body.indexOf('\r\n\r\n', at);
    const headers: Record<string, string> = {};
    for (const line of body.toString('latin1', at, end).split('\r\n')) {
      const colon = line.indexOf(': ');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 2);
    }
    const { start, end: stop } = parseContentRange(headers['content-range'] ?? '');
    at = end + 4 + stop - start;
    parts.push({ headers, body: body.subarray(end + 4, at), start });
    expectText(`\r\n--${boundary}`);
  }
  expectText('--\r\n');
  if (at !== body.length) throw new Error('bytes stand behind the last delimiter');
  return parts;
}

/** The bytes `[start, end)` of `size` that a `Content-Range` names. */
export function parseContentRange(value: string): {
  readonly start: number;
  readonly end: number;
  readonly size: number;
} {
  const [, first, last, size] = /^bytes ([0-9]+)-([0-9]+)\/([0-9]+)$/.exec(value) ?? [];
  if (first === undefined || last === undefined || size === undefined) {
    throw new Error(`not a Content-Range of bytes: ${value}`);
  }
  return { start: Number(first), end: Number(last) + 1, size: Number(size) };
}
