import { once } from 'node:events';
import type { Socket } from 'node:net';
import { renderRequest, type RequestFields } from './http-connection.ts';
import { openSocket, parseAnswer, type RawAnswer } from './raw-http.ts';

/** A download whose client has received the beginning of the answer and stopped reading. */
export interface SlowDownload {
  readonly socket: Socket;
  /** Reads the rest. */
  finish(): Promise<RawAnswer>;
  /** Closes the connection. */
  abandon(): void;
}

/** Sends a request on its own connection and stops reading when the answer has begun. */
export async function startSlowDownload(
  port: number,
  target: string,
  fields: RequestFields = [],
): Promise<SlowDownload> {
  const socket = await openSocket(port);
  const chunks: Buffer[] = [];
  let wasCut = false;
  socket.on('error', () => {
    wasCut = true;
  });
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(renderRequest('GET', target, [...fields, ['Connection', 'close']]));
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      resolve();
    });
  });
  await once(socket, 'data');
  socket.pause();
  return {
    socket,
    finish: async () => {
      socket.resume();
      await closed;
      const answer = parseAnswer(Buffer.concat(chunks));
      const { 'content-length': length } = answer.headers;
      return { ...answer, wasCut: wasCut || answer.body.length < Number(length) };
    },
    abandon: () => {
      socket.resetAndDestroy();
    },
  };
}
