using RedKite.Server.Changes;

namespace RedKite.Json.Commands;

/// <summary>The events of documents, as RedisJSON's notifications name them.</summary>
internal static class JsonEvents
{
    internal static readonly KeyEvent Set = KeyEvents.Add("json.set");
    internal static readonly KeyEvent MSet = KeyEvents.Add("json.mset");
    internal static readonly KeyEvent Merge = KeyEvents.Add("json.merge");
    internal static readonly KeyEvent Del = KeyEvents.Add("json.del");
    internal static readonly KeyEvent Clear = KeyEvents.Add("json.clear");
    internal static readonly KeyEvent Toggle = KeyEvents.Add("json.toggle");
    internal static readonly KeyEvent NumIncrBy = KeyEvents.Add("json.numincrby");
    internal static readonly KeyEvent NumMultBy = KeyEvents.Add("json.nummultby");
    internal static readonly KeyEvent NumPowBy = KeyEvents.Add("json.numpowby");
    internal static readonly KeyEvent StrAppend = KeyEvents.Add("json.strappend");
    internal static readonly KeyEvent ArrAppend = KeyEvents.Add("json.arrappend");
    internal static readonly KeyEvent ArrInsert = KeyEvents.Add("json.arrinsert");
    internal static readonly KeyEvent ArrPop = KeyEvents.Add("json.arrpop");
    internal static readonly KeyEvent ArrTrim = KeyEvents.Add("json.arrtrim");
}
