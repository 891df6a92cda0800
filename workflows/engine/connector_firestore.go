package engine

// firestoreREST are the document methods of the Firestore API.
var firestoreREST = restTable("firestore.v1.projects.databases.documents", map[string]restMethod{
	"createDocument":    {"POST", "/v1/{parent*}/{collectionId}", []string{"documentId", "mask.fieldPaths"}},
	"get":               {"GET", "/v1/{name*}", []string{"mask.fieldPaths", "readTime", "transaction"}},
	"list":              {"GET", "/v1/{parent*}/{collectionId}", []string{"orderBy", "pageSize", "pageToken", "mask.fieldPaths", "showMissing"}},
	"patch":             {"PATCH", "/v1/{name*}", []string{"currentDocument.exists", "currentDocument.updateTime", "updateMask.fieldPaths", "mask.fieldPaths"}},
	"delete":            {"DELETE", "/v1/{name*}", []string{"currentDocument.exists", "currentDocument.updateTime"}},
	"commit":            {"POST", "/v1/{database*}/documents:commit", nil},
	"batchGet":          {"POST", "/v1/{database*}/documents:batchGet", nil},
	"batchWrite":        {"POST", "/v1/{database*}/documents:batchWrite", nil},
	"beginTransaction":  {"POST", "/v1/{database*}/documents:beginTransaction", nil},
	"rollback":          {"POST", "/v1/{database*}/documents:rollback", nil},
	"runQuery":          {"POST", "/v1/{parent*}:runQuery", nil},
	"listCollectionIds": {"POST", "/v1/{parent*}:listCollectionIds", nil},
})
