import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** What a provider does with each request. */
const MODES = ['works', 'is away', 'is busy', 'answers garbage', 'answers too little'] as const;

/** What a machine makes of a text. */
function machineTranslation(source: string): string {
  return source.replaceAll(/./gu, '机');
}

/** A provider of machine translations, which speaks the protocol of LibreTranslate and can fail. */
export class Provider {
  #mode: (typeof MODES)[number] = 'works';
  readonly #server: Server = createServer((request, response) => {
    if (request.url === '/languages') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
      return;
    }
    void json(request).then(
      (body) => {
        this.#answer((body as { readonly q: readonly string[] }).q, response);
      },
      () => response.destroy(),
    );
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Begins to fail in one of several ways, or works again. */
  fail(pick: number): void {
    this.#mode = MODES[pick % MODES.length] ?? 'works';
  }

  heal(): void {
    this.#mode = 'works';
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer(texts: readonly string[], response: ServerResponse): void {
    const translated = texts.map(machineTranslation);
    if (this.#mode === 'is away') response.destroy();
    else if (this.#mode === 'is busy') response.writeHead(503, { 'retry-after': '5' }).end();
    else if (this.#mode === 'answers garbage') response.end('<html>');
    else {
      const answered = this.#mode === 'works' ? translated : translated.slice(1);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ translatedText: answered }));
    }
  }
}
