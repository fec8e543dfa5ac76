import { request, type IncomingHttpHeaders } from 'node:http';

/** A complete answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A request of the simulation: over TCP, or over a Unix socket. */
interface Question {
  readonly port?: number;
  readonly socketPath?: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Requests a path on a connection of its own. @returns `null` when the connection fails or breaks before the end */
export async function ask({ body = '', headers = {}, ...question }: Question): Promise<Answer | null> {
  return await new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', agent: false, ...question, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => resolve(null));
      response.on('close', () => {
        const { statusCode: status = 0, complete } = response;
        resolve(complete ? { status, headers: response.headers, body: Buffer.concat(chunks) } : null);
      });
    });
    asked.on('error', () => resolve(null));
    asked.end(body);
  });
}
