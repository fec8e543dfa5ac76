import { once } from 'node:events';
import type { Socket } from 'node:net';
import { renderRequest, type RequestFields } from './http-connection.ts';
import { openSocket, parseAnswer, type RawAnswer } from './raw-http.ts';

/** A download whose client has taken the beginning of the answer and waits. */
export interface SlowDownload {
  readonly socket: Socket;
  /** Takes the rest. */
  finish(): Promise<RawAnswer>;
  /** Goes away. */
  abandon(): void;
}

/** Asks for something on a connection of its own and stops to read once the answer has begun. */
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
