import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ECHO_CHARACTERS } from '../src/localization/translation/providers/answer-rows.ts';
import { estimateTokens } from '../src/domain/translation/token-estimate.ts';
import { translateMaskedDemoLine } from './game/translate-line.ts';

/** The name of the provider in the configuration, and of its model. */
export const DEMO_PROVIDER = 'demo';

/** A request takes as long as one to a quick model. */
const REQUEST_MS = 400;
const LINE_MS = 30;
/** Of how many lines one comes back wrong. */
const LINES_PER_MISTAKE = 24;

/** A line of a prompt. */
interface Line {
  readonly id: string;
  readonly text: string;
}

/** A server that answers as a language model does, from the list of phrases of the demo. */
export interface DemoProvider {
  /** Root of its API, on a loopback port. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the provider of the demo: the chat completions of OpenAI, without an account. It makes mistakes, as models do: it
 * leaves out a token of some lines, or gives the source back.
 */
export async function startDemoProvider(): Promise<DemoProvider> {
  // A model that is asked again answers differently, so each line comes back wrong once.
  const mistakes = new Set<string>();
  const server = createServer((request, response) => {
    answer(request, response, mistakes).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: async () => await close(server),
  };
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await server[Symbol.asyncDispose]();
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  mistakes: Set<string>,
): Promise<void> {
  if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
    response.writeHead(404).end();
    return;
  }
  const { messages, response_format: format } = JSON.parse(await readText(request)) as {
    readonly messages: readonly { readonly content: string }[];
    readonly response_format?: { readonly json_schema?: { readonly name: string } };
  };
  const { script = [], words = [] } = JSON.parse(messages.at(-1)?.content ?? '{}') as {
    readonly script?: readonly unknown[];
    readonly words?: readonly unknown[];
  };
  const lines = [...script, ...words].filter(isLine);
  const answerTo = ANSWERS[format?.json_schema?.name ?? ''] ?? translated;
  const rows = lines.map((line) => ({ id: line.id, s: beginningOf(line), ...answerTo(line, mistakes) }));
  const content = JSON.stringify({ rows });
  await sleep(REQUEST_MS + LINE_MS * lines.length);
  const prompt = estimateTokens(messages.map((message) => message.content).join('\n'));
  response.setHeader('content-type', 'application/json').end(
    JSON.stringify({
      choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: prompt, completion_tokens: estimateTokens(content) },
    }),
  );
}

const translated = (line: Line, mistakes: Set<string>): object => ({ t: translationOf(line, mistakes) });

/** What a row has beside its id and its beginning, by the name of the schema. Names of the demo are written in katakana. */
const ANSWERS: Readonly<Record<string, typeof translated>> = {
  evaluations: () => ({ findings: [] }),
  classes: ({ text }) => ({ class: /^[\p{Script=Katakana}ー]+$/u.test(text) ? 'name' : 'word' }),
};

/** Whether an entry of the script is to be translated; the others are context. */
function isLine(entry: unknown): entry is Line {
  return typeof entry === 'object' && entry !== null && 'id' in entry;
}

function beginningOf({ text }: Line): string {
  return Array.from(text).slice(0, ECHO_CHARACTERS).join('');
}

function translationOf({ text }: Line, mistakes: Set<string>): string {
  const target = translateMaskedDemoLine(text) ?? text;
  const isWrong = isDifficult(text) && !mistakes.has(text);
  if (isWrong) mistakes.add(text);
  return isWrong ? mistakenFor(text, target) : target;
}

function isDifficult(text: string): boolean {
  const sum = Array.from(text).reduce((all, character) => all + (character.codePointAt(0) ?? 0), 0);
  return sum % LINES_PER_MISTAKE === 0;
}

function mistakenFor(text: string, target: string): string {
  const without = target.replace(/<x id="\d+"\/>/, '');
  return without === target ? text : without;
}
