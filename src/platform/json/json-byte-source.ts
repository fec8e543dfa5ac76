import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../contract/json/json-characters.ts';

/** A document that is not the JSON that was expected; the message says where and why. */
export class JsonMemberError extends Error {
  override readonly name = 'JsonMemberError';
  /** Whether the document was fine as far as it went. */
  readonly truncated: boolean;

  constructor(message: string, truncated: boolean) {
    super(message);
    this.truncated = truncated;
  }
}

const MAX_DEPTH = 64;
export const MAX_NAME_BYTES = 4096;

/** Bytes of a document with a position, refilled from its chunks only when they run out. */
export class JsonByteSource {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #buffer: Buffer = Buffer.alloc(0);
  #position = 0;
  #consumed = 0;
  #ended = false;
  // State of the value that is being scanned, kept across refills so that no byte is scanned twice.
  #scanned = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#iterator = chunks[Symbol.asyncIterator]();
  }

  error(message: string, truncated = false): JsonMemberError {
    return new JsonMemberError(`${message} (near byte ${this.#consumed + this.#position})`, truncated);
  }

  skip(): void {
    this.#position += 1;
  }

  /** Drops a UTF-8 byte order mark, which some tools write although RFC 8259 forbids it. */
  async skipByteOrderMark(): Promise<void> {
    while (this.#buffer.length < 3 && (await this.#refill(1)));
    if (this.#buffer[0] === 0xef && this.#buffer[1] === 0xbb && this.#buffer[2] === 0xbf) this.#position = 3;
  }

  /** The next byte in the buffer that is not white space, not consumed; `null` when the buffer holds none. */
  peekBuffered(): number | null {
    while (this.#position < this.#buffer.length) {
      const byte = this.#buffer[this.#position] ?? 0;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#position += 1;
    }
    return null;
  }

  /** The next byte that is not white space, not consumed; `null` at the end. */
  async peekOrEnd(): Promise<number | null> {
    for (;;) {
      const byte = this.peekBuffered();
      if (byte !== null || !(await this.#refill(1))) return byte;
    }
  }

  async peek(): Promise<number> {
    const byte = await this.peekOrEnd();
    if (byte === null) throw this.error('the document ends too early', true);
    return byte;
  }

  async expect(byte: number, message: string): Promise<void> {
    if ((await this.peek()) !== byte) throw this.error(message);
    this.skip();
  }

  /** Consumes `,` (true: another follows) or `close` (false). */
  async another(close: number): Promise<boolean> {
    return this.#isComma(await this.peek(), close);
  }

  /** The bytes of the value that begins here, or `null` when the buffer holds only its beginning. */
  takeValue(maxBytes: number): Buffer | null {
    const end = this.#scan();
    if ((end ?? this.#buffer.length) - this.#position > maxBytes) {
      throw this.error(`a value is longer than ${maxBytes} bytes`);
    }
    if (end === null) return null;
    const bytes = this.#buffer.subarray(this.#position, end);
    this.#position = end;
    this.#scanned = 0;
    return bytes;
  }

  /**
   * The next element of a container with what separates it from the one behind it, or `null` (and nothing is consumed)
   * when the buffer does not hold all of that. Never waits: a catalog has millions of elements.
   */
  takeElement(
    close: number,
    maxBytes: number,
  ): { readonly name: Buffer | null; readonly value: Buffer; readonly last: boolean } | null {
    const start = this.#position;
    let name: Buffer | null = null;
    let complete = true;
    if (close === CLOSE_OBJECT) {
      name = this.#takeBufferedName();
      complete = name !== null;
    }
    const value = complete && this.peekBuffered() !== null ? this.takeValue(maxBytes) : null;
    const separator = value === null ? null : this.peekBuffered();
    if (value === null || separator === null) {
      this.#rewind(start);
      return null;
    }
    return { name, value, last: !this.#isComma(separator, close) };
  }

  #takeBufferedName(): Buffer | null {
    const quote = this.peekBuffered();
    if (quote === null) return null;
    if (quote !== QUOTE) throw this.error('a member name in double quotes was expected');
    const name = this.takeValue(MAX_NAME_BYTES);
    const colon = name === null ? null : this.peekBuffered();
    if (colon === null) return null;
    if (colon !== COLON) throw this.error('a ":" was expected');
    this.skip();
    return name;
  }

  #isComma(byte: number, close: number): boolean {
    if (byte !== COMMA && byte !== close) throw this.error('a "," or the end of the list was expected');
    this.skip();
    return byte === COMMA;
  }

  #rewind(position: number): void {
    this.#position = position;
    this.#scanned = 0;
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
  }

  /** Reads more; doubling the buffer keeps the work linear in the length of a value. */
  async extend(): Promise<void> {
    const held = this.#buffer.length - this.#position;
    if (!(await this.#refill(Math.max(1, held)))) throw this.error('the document ends too early', true);
  }

  async close(): Promise<void> {
    if (!this.#ended) await this.#iterator.return?.();
  }

  /** Finds the end of the value at the position; `null` when the buffer ends first. */
  #scan(): number | null {
    const buffer = this.#buffer;
    let index = this.#position + this.#scanned;
    while (index < buffer.length) {
      const byte = buffer[index] ?? 0;
      if (this.#inString) {
        if (this.#stepInString(byte)) return index + 1;
      } else if (byte === QUOTE) {
        this.#inString = true;
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.#depth += 1;
        if (this.#depth > MAX_DEPTH) throw this.error(`values are nested deeper than ${MAX_DEPTH}`);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (this.#depth === 0) return index;
        this.#depth -= 1;
        if (this.#depth === 0) return index + 1;
      } else if (this.#depth === 0 && (byte === COMMA || byte <= 0x20)) {
        return index;
      }
      index += 1;
    }
    this.#scanned = index - this.#position;
    return null;
  }

  #stepInString(byte: number): boolean {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      this.#inString = false;
      return this.#depth === 0;
    }
    return false;
  }

  /** Adds at least `wanted` bytes where the document still has them; `false` at its end. */
  async #refill(wanted: number): Promise<boolean> {
    if (this.#ended) return false;
    const parts: Uint8Array[] = [this.#buffer.subarray(this.#position)];
    let added = 0;
    while (added < wanted) {
      const next = await this.#iterator.next();
      if (next.done === true) {
        this.#ended = true;
        break;
      }
      parts.push(next.value);
      added += next.value.length;
    }
    if (added === 0) return false;
    this.#consumed += this.#position;
    this.#position = 0;
    this.#buffer = Buffer.concat(parts);
    return true;
  }
}
