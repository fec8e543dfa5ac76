# One image for every command; the sources run as they are, so there is nothing to build but the dependencies.
#   docker build --build-arg NODE_IMAGE=node:26-slim -t slipway .
ARG NODE_IMAGE=node:26-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY cmd ./cmd
COPY src ./src
# No name is needed: any user without rights will do, and Kubernetes checks for a number.
USER 65532:65532
ENTRYPOINT ["node"]
CMD ["cmd/slipway.ts", "help"]
