import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'
import { standalone } from './standalone.ts'

/** Names are stable, so the built files can be committed and compared with their source. */
export default defineConfig({
  base: './',
  plugins: [react(), standalone()],
  build: {
    outDir: process.env['WEB_OUT'] ?? '../plugins/graph_compiler/airflow_backend/web/static',
    emptyOutDir: true,
    modulePreload: false,
    target: 'es2023',
    license: { fileName: 'assets/licenses.md' },
    rolldownOptions: {
      output: {
        entryFileNames: 'assets/app.js',
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith('.css')) ? 'assets/app.css' : 'assets/[name][extname]'),
        codeSplitting: false,
      },
    },
  },
  // A test ends when it is done, however busy the machine is.
  test: { include: ['test/**/*.test.ts'], testTimeout: 120_000 },
})
