import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** The request and the response that the proxy gets instead of the client's. */
export interface ForwardedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Makes the proxy release the exchange; it cuts a connection whose answer is not complete. */
  readonly release: () => void;
}

/**
 * Makes a request without a body that contains only the given values, so that no header, cookie, credential or upgrade
 * of a client can reach the daemon. Also makes a response to which no answer is written: the proxy cuts the response of
 * an answer that ends too early, and the client must get a 503 instead.
 *
 * @param path path and query, from constants and validated values
 * @param headers lower-case names
 */
export function createForwardedExchange(
  path: string,
  headers: Readonly<Record<string, string>>,
): ForwardedExchange {
  const request = new IncomingMessage(new Socket());
  request.method = 'GET';
  request.url = path;
  request.httpVersion = '1.1';
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.headers = { ...headers };
  // Otherwise the proxy takes its end for a client that disconnected, and makes an error with its stack.
  request.complete = true;
  request.push(null);
  const response = new ServerResponse(request);
  return {
    request,
    response,
    release: () => {
      // The response has no socket that could emit this.
      response.emit('close');
    },
  };
}
