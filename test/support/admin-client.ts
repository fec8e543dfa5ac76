import type { Problem } from '../../src/contract/problems/problem-schema.ts';
import { startTestServer, type TestServer } from './start-test-server.ts';
import { writeTokenFile } from './token-file.ts';

/** The token of {@link startAdminServer}. */
export const ADMIN_TOKEN = 'canary-4f1d0c-admin-token';

/** A test server with an admin token, and functions that send requests to it. */
export interface AdminServer extends TestServer {
  /** The token file; its content is the token. */
  readonly tokenFile: string;
  /** Requests a path with the token, unless the fields say otherwise. */
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>;
  /** Posts a control action with the token; `body` is sent as JSON text. */
  readonly control: (action: string, body?: string, headers?: Record<string, string>) => Promise<Response>;
}

/** Starts a server whose admin surface is open to {@link ADMIN_TOKEN}. */
export async function startAdminServer(
  options: Parameters<typeof startTestServer>[0] & { readonly exposeControl?: boolean } = {},
): Promise<AdminServer> {
  const tokenFile = await writeTokenFile(ADMIN_TOKEN);
  const server = await startTestServer({
    refresh: false,
    ...options,
    config: {
      admin: { tokenFiles: [tokenFile], exposeControl: options.exposeControl ?? true },
      ...options.config,
    },
  });
  const authorization = `Bearer ${ADMIN_TOKEN}`;
  return {
    ...server,
    tokenFile,
    ask: async (path, init = {}) =>
      await fetch(`${server.url}${path}`, {
        ...init,
        headers: { authorization, ...(init.headers as Record<string, string> | undefined) },
      }),
    control: async (action, body, headers = {}) =>
      await fetch(`${server.url}/admin/control/${action}`, {
        method: 'POST',
        ...(body === undefined ? {} : { body }),
        headers: {
          authorization,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
      }),
  };
}

/** Status and problem code of an answer. */
export async function refusal(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as Problem).code];
}
