// Calls every operation with a client in TypeScript, in a process of its own, and prints the outcomes as JSON.
//   node call-typescript-client-child.ts fetch|hey CLIENT URL TOKEN CALLS
// CLIENT is the module of openapi-fetch, or the folder that @hey-api/openapi-ts has generated.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import type { GeneratedCall, GeneratedOutcome } from './generated-calls.ts';

/** The answer of either client. */
interface ClientAnswer {
  readonly data?: unknown;
  readonly response: Response;
}

type Send = (call: GeneratedCall) => Promise<ClientAnswer>;
type AnyFunction = (...args: readonly unknown[]) => unknown;

const [kind = '', client = '', baseUrl = '', token = '', callsFile = ''] = process.argv.slice(2);

async function load(path: string): Promise<Record<string, AnyFunction>> {
  return (await import(pathToFileURL(path).href)) as Record<string, AnyFunction>;
}

/** The client of openapi-fetch, whose calls are typed by the output of openapi-typescript. */
async function fetchClient(): Promise<Send> {
  const { default: createClient } = await load(client);
  const made = createClient?.({ baseUrl, headers: { authorization: `Bearer ${token}` } }) as Record<
    string,
    (path: string, options: object) => Promise<ClientAnswer>
  >;
  return async ({ method, template, path, query, body, isJson }) => {
    const send = made[method.toUpperCase()];
    if (send === undefined) throw new Error(`the client has no ${method}`);
    return await send(template, {
      params: { path, query },
      ...(body === null ? {} : { body }),
      parseAs: isJson ? 'json' : 'arrayBuffer',
    });
  };
}

/** The client of @hey-api/openapi-ts: one function for each operation. */
async function heyClient(): Promise<Send> {
  const sdk = await load(join(client, 'sdk.gen.ts'));
  const { createClient, createConfig } = await load(join(client, 'client/index.ts'));
  const made = createClient?.(createConfig?.({ baseUrl, auth: () => token }));
  return async ({ operation, path, query, body }) => {
    const send = sdk[operation];
    if (send === undefined) throw new Error(`the client has no ${operation}`);
    return (await send({ client: made, path, query, ...(body === null ? {} : { body }) })) as ClientAnswer;
  };
}

const send = kind === 'fetch' ? await fetchClient() : await heyClient();
const calls = JSON.parse(await readFile(callsFile, 'utf8')) as readonly GeneratedCall[];
const outcomes: GeneratedOutcome[] = [];
for (const call of calls) {
  const { data, response } = await send(call);
  outcomes.push({
    operation: call.operation,
    status: response.status,
    hasContent: data !== undefined && data !== null,
  });
}
process.stdout.write(JSON.stringify(outcomes));
