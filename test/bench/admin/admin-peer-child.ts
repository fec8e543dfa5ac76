/**
 * Stands beside the server in the bench of the admin surface. Arguments: `backend`, which answers a report as the daemon
 * does, or `proxy` and the origin of a backend, which is http-proxy-middleware on express as its README has it. Prints
 * its port.
 */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { TaskListReport } from '../../../src/contract/reports/report-daemon.ts';

/** As many tasks as a day of work leaves. */
const TASKS = 30;

function backend(): RequestListener {
  const [task] = TaskListReport.example.items;
  const items = Array.from({ length: TASKS }, () => task);
  const body = Buffer.from(JSON.stringify({ ...TaskListReport.example, items }));
  return (request, response) => {
    if (request.url?.startsWith('/v1/reports/task.list') !== true) {
      response
        .writeHead(404, { 'content-type': 'application/problem+json' })
        .end('{"code":"no_attestation"}');
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  };
}

const [kind = '', target = ''] = process.argv.slice(2);
const listener =
  kind === 'backend'
    ? backend()
    : (express().use(createProxyMiddleware({ target, changeOrigin: true })) as RequestListener);
const server = createServer({ keepAliveTimeout: 65_000 }, listener);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log((server.address() as AddressInfo).port);
