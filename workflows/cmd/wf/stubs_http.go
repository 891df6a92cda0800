package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
)

func (e *httpStub) response(r *http.Request) (*http.Response, error) {
	header := http.Header{}
	body, isText := e.Body.(string)
	raw := []byte(body)
	if !isText && e.Body != nil {
		var err error
		if raw, err = json.Marshal(e.Body); err != nil {
			return nil, err
		}
		header.Set("Content-Type", "application/json")
	}
	for k, v := range e.Headers {
		header.Set(k, v)
	}
	code := e.Code
	if code == 0 {
		code = http.StatusOK
	}
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw)), Request: r,
	}, nil
}
