import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { mockServer } from './mockServer.ts'

/** `npm run dev`: the page at /graph-compiler/app/, with a server of made-up runs; `npm run preview`: the built page with it. */
export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  base: '/graph-compiler/app/',
  plugins: [react(), mockServer()],
  build: { outDir: process.env['WEB_OUT'] ?? '../plugins/graph_compiler/airflow_backend/web/static' },
  preview: { host: '127.0.0.1', port: 5198, strictPort: true },
  server: { host: '127.0.0.1', port: 5199, strictPort: true },
})
