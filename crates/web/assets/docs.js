SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#documentation",
  deepLinking: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  // Otherwise the description would be sent to a validator on the Internet.
  validatorUrl: null,
  // The description names the public address. Calls from this page go to whichever address the
  // page came from, which a browser lets it call.
  requestInterceptor(request) {
    const address = new URL(request.url, location.href);
    request.url = location.origin + address.pathname + address.search;
    return request;
  },
});
