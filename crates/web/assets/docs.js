SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#documentation",
  deepLinking: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  // Otherwise the document would be sent to an online validator.
  validatorUrl: null,
  // The document names the public base URL. Calls from this page go to the page's own origin instead, which the
  // content security policy allows.
  requestInterceptor(request) {
    const url = new URL(request.url, location.href);
    request.url = location.origin + url.pathname + url.search;
    return request;
  },
});
