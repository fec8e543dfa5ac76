import { writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  openProvider,
  sendJson,
  startProviderServer,
  type OpenedProvider,
  type Reply,
  type SeenCall,
} from './provider-harness.ts';
import type { AtEnd } from './shared-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A glossary of the account. */
export interface DeeplGlossary {
  readonly glossary_id: string;
  readonly name: string;
  readonly dictionaries: readonly { readonly entries?: string; readonly target_lang: string }[];
}

/** A fake of DeepL that checks requests as the real one does. */
export interface DeeplServer {
  readonly url: string;
  readonly tokenFile: string;
  readonly calls: readonly SeenCall[];
  readonly glossaries: Map<string, DeeplGlossary>;
  /** The requests for translations. */
  readonly asked: () => readonly SeenCall[];
  /** Answers requests for translations, when it does not return `false`. */
  behave: ((call: SeenCall, response: ServerResponse) => unknown) | null;
  /** Glossaries that the account has room for. */
  room: number;
  /** Requests about glossaries that are cut off, or answered with half of an answer. */
  trouble: 'GET' | 'DELETE' | null;
  /** Answer to every request that would make a glossary; `null` for the usual one. */
  refusal: { readonly status: number; readonly body: object } | null;
  /** Called with each request about glossaries, which waits for it; `null`: none waits. */
  hold: (() => Promise<void>) | null;
}

const KEY = 'secret-of-the-test';

/** Starts it, with a provider that asks it. */
export async function startDeeplServer(
  settings: object = {},
  key = KEY,
): Promise<DeeplServer & OpenedProvider> {
  const server = await startDeepl(key);
  const { url, tokenFile } = server;
  const opened = await openProvider({
    kind: 'deepl',
    url,
    allowHosts: ['127.0.0.1'],
    tokenFile,
    ...settings,
  });
  return Object.assign(server, opened);
}

/** Starts it. Each text is translated by a star at its end. */
export async function startDeepl(key = KEY, atEnd: AtEnd = onTestFinished): Promise<DeeplServer> {
  const state: Pick<DeeplServer, 'behave' | 'room' | 'trouble' | 'refusal' | 'hold'> = {
    behave: null,
    room: 1000,
    trouble: null,
    refusal: null,
    hold: null,
  };
  const glossaries = new Map<string, DeeplGlossary>();
  let made = 0;
  const answer: Reply = (call, response) => {
    const { method, path, authorization } = call;
    if (authorization !== `DeepL-Auth-Key ${key}`) sendJson(response, { message: 'Forbidden' }, 403);
    else if (path === '/v2/translate') {
      if (state.behave?.(call, response) === undefined) answerTexts(call, response, glossaries);
    } else if (method === state.trouble) {
      if (method === 'DELETE') response.destroy();
      else response.writeHead(200).end('{');
    } else if (method === 'GET') {
      const list = [...glossaries.values()].map(({ glossary_id, name }) => ({
        glossary_id,
        name,
        dictionaries: [],
      }));
      sendJson(response, { glossaries: list });
    } else if (method === 'DELETE') {
      const id = path.slice('/v3/glossaries/'.length);
      response.writeHead(glossaries.delete(id) ? 204 : 404).end();
    } else {
      const body = call.body as unknown as Omit<DeeplGlossary, 'glossary_id'>;
      const problem = state.refusal ?? problemOf(body, glossaries.size >= state.room);
      if (problem !== null) {
        sendJson(response, problem.body, problem.status);
        return;
      }
      made += 1;
      const glossary = { ...body, glossary_id: `g${made}` };
      glossaries.set(glossary.glossary_id, glossary);
      sendJson(response, { glossary_id: glossary.glossary_id, name: body.name }, 201);
    }
  };
  const server = await startProviderServer((call, response, request) => {
    if (state.hold === null || call.path === '/v2/translate') answer(call, response, request);
    else
      void state.hold().then(() => {
        answer(call, response, request);
      });
  }, atEnd);
  const tokenFile = join(await temporaryDirectory(atEnd), 'key');
  await writeFile(tokenFile, key, { mode: 0o600 });
  const asked = (): readonly SeenCall[] => server.calls.filter(({ path }) => path === '/v2/translate');
  return Object.assign(state, { ...server, tokenFile, glossaries, asked });
}

function problemOf(
  { dictionaries }: Omit<DeeplGlossary, 'glossary_id'>,
  isFull: boolean,
): { readonly status: number; readonly body: object } | null {
  if (isFull) return { status: 456, body: { message: 'Quota exceeded', detail: 'Too many glossaries' } };
  const lines = (dictionaries[0]?.entries ?? '').split('\n').map((line) => line.split('\t'));
  const isWhole = lines.every((line) => line.length === 2 && line.every((text) => text.trim() !== ''));
  const isUnique = new Set(lines.map(([source]) => source)).size === lines.length;
  if (isWhole && isUnique) return null;
  const detail = 'Key with the index 1 (starting at position 13) duplicates key with the index 0';
  return { status: 400, body: { message: 'Invalid glossary entries provided', detail } };
}

function answerTexts(
  { body }: SeenCall,
  response: ServerResponse,
  glossaries: ReadonlyMap<string, DeeplGlossary>,
): void {
  const { text, glossary_id: id } = body as SeenCall['body'] & { readonly glossary_id?: string };
  const words = text.map((each) => each.replaceAll(/<x id="\d+"\/>/g, ''));
  if (words.some((each) => /[<>]|&(?!(?:amp|lt|gt|#13);)/.test(each)))
    sendJson(response, { message: 'Tag handling parsing failed, please check input.' }, 400);
  else if (id !== undefined && !glossaries.has(id))
    sendJson(response, { message: 'Glossary not found' }, 404);
  else if (text.length > 50) sendJson(response, { message: 'Too many texts' }, 400);
  else {
    const translations = text.map((each, at) => ({
      detected_source_language: 'JA',
      text: `${each}*`,
      billed_characters: Array.from(words[at] ?? '').length,
    }));
    sendJson(response, { translations }, 200, { 'x-trace-id': 'trace-1' });
  }
}
