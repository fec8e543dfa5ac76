import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { listen } from '../../src/platform/http/listen.ts';
import type { AtEnd } from './shared-fixture.ts';

/** Answers one request; the body is parsed JSON. */
export type Reply = (
  body: unknown,
  response: ServerResponse,
  request: IncomingMessage,
) => void | Promise<void>;

/** A provider of translations on loopback. */
export interface TranslationServer {
  readonly url: string;
  /** Requests that have arrived. */
  readonly seen: () => number;
  reply: Reply;
}

/** Starts a server whose answers a test decides; it closes when the test ends. */
export async function startTranslationServer(
  reply: Reply,
  atEnd: AtEnd = onTestFinished,
): Promise<TranslationServer> {
  let seen = 0;
  const state = { reply };
  const server = createServer((request, response) => {
    seen += 1;
    // A client that was killed leaves a broken request.
    response.on('error', () => undefined);
    request.on('error', () => undefined);
    void text(request)
      .then(async (body) => await state.reply(body === '' ? null : JSON.parse(body), response, request))
      .catch(() => response.destroy());
  });
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(state, { url: `http://127.0.0.1:${port ?? 0}`, seen: () => seen });
}

/** Answers with JSON. */
export function answerJson(response: ServerResponse, body: unknown, status = 200): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}

const LANGUAGES = ['ja', 'zh-Hans', 'en'].map((code, _at, targets) => ({ code, name: code, targets }));

/** Translates as LibreTranslate does. */
export function libreTranslate(translate: (source: string) => string): Reply {
  return (body, response, request) => {
    if (request.url === '/languages') {
      answerJson(response, LANGUAGES);
      return;
    }
    const { q } = body as { readonly q: readonly string[] };
    answerJson(response, { translatedText: q.map(translate) });
  };
}
